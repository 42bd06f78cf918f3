//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package boltjournal

import (
	"os"
	"syscall"
)

// unlock lets go of bbolt's lock. Closing the file is not enough as long as it is mapped.
func unlock(f *os.File) { syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

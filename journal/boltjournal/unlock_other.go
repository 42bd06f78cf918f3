//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package boltjournal

import "os"

// unlock does nothing here: closing the file lets its lock go.
func unlock(*os.File) {}

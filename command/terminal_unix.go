//go:build !windows

package command

import (
	"io"
	"os"
	"syscall"
)

// openTerminal opens the controlling terminal of this process, whatever its standard streams are.
func openTerminal() (io.ReadWriteCloser, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

// mine reports whether a file belongs to this user.
func mine(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

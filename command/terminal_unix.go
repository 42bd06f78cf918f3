//go:build !windows

package command

import (
	"io"
	"os"
)

// openTerminal opens the controlling terminal of this process, whatever its standard streams are.
func openTerminal() (io.ReadWriteCloser, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

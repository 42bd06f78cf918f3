//go:build unix

package fakeprovider

import (
	"net"
	"syscall"
)

// reserve keeps a port without listening on it: connections are refused, and no other process is given the port meanwhile. It gives
// nil where that cannot be done.
func reserve(addr string) (release func()) {
	tcp, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil || tcp.IP.To4() == nil {
		return nil
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil
	}
	syscall.CloseOnExec(fd)
	to := &syscall.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(tcp.IP.To4())}
	if syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) != nil || syscall.Bind(fd, to) != nil {
		syscall.Close(fd)
		return nil
	}
	return func() { syscall.Close(fd) }
}

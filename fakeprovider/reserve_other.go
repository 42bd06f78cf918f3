//go:build !unix

package fakeprovider

// reserve keeps nothing here: while connections are refused, another process may be given the port.
func reserve(string) (release func()) { return nil }

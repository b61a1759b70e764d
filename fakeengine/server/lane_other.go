//go:build !unix

package server

import (
	"net"
	"syscall"
)

// newSocket makes no lane: net/http writes.
func newSocket(net.Conn, syscall.RawConn) lane { return nil }

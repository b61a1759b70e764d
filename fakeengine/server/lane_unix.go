//go:build unix

package server

import (
	"errors"
	"net"
	"syscall"
)

// socket is the lane of a TCP connection.
type socket struct {
	conn net.Conn
	raw  syscall.RawConn

	// Of one try, so that it allocates nothing.
	once func(fd uintptr) bool
	p    []byte
	n    int
	err  error
}

var _ lane = (*socket)(nil)

func newSocket(c net.Conn, raw syscall.RawConn) lane {
	s := &socket{conn: c, raw: raw}
	s.once = s.call
	return s
}

// call is one system call that does not block, as sockets of Go don't.
func (s *socket) call(fd uintptr) bool {
	for {
		s.n, s.err = syscall.Write(int(fd), s.p)
		if !errors.Is(s.err, syscall.EINTR) {
			return true // never wait for the poller
		}
	}
}

func (s *socket) try(p []byte) (n int, err error) {
	s.p = p
	err = s.raw.Write(s.once)
	s.p = nil
	if err == nil {
		err = s.err
	}
	if errors.Is(err, syscall.EAGAIN) {
		return 0, nil
	}
	return max(0, s.n), err
}

func (s *socket) write(p []byte) error {
	_, err := s.conn.Write(p)
	return err
}

package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"goodput/loadgen/clock"
)

// paceEnv says what TestPaceClient has to do.
const paceEnv = "GOODPUT_PACE_CLIENT"

// tokenMark begins the event of a token, and occurs nowhere else.
const tokenMark = "data: {"

// TestPaceClient is the client of BenchmarkPace, if that has started it.
func TestPaceClient(t *testing.T) {
	text := os.Getenv(paceEnv)
	if text == "" {
		t.Skip("BenchmarkPace runs it in a process of its own")
	}
	var file, addr string
	c := paceClient{}
	if _, err := fmt.Sscan(text, &file, &addr, &c.replicas, &c.streams, &c.tokens, &c.step); err != nil {
		t.Fatal(err)
	}
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	c.to = &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for i := range c.readers {
		for _, at := range c.readers[i].stamps {
			out = binary.LittleEndian.AppendUint64(out, uint64(at))
		}
	}
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// paceClient reads all streams by one thread and epoll: as little as possible of what is
// measured is the client's.
type paceClient struct {
	pace
	to      unix.Sockaddr
	poll    int
	readers []paceReader
}

type paceReader struct {
	fd      int
	matched int // bytes of tokenMark
	stamps  []clock.Time
}

func (c *paceClient) run() (err error) {
	if c.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	c.readers = make([]paceReader, c.streams)
	for i := range c.readers {
		c.readers[i].stamps = make([]clock.Time, 0, c.tokens)
	}
	ready, buf := make([]unix.EpollEvent, 256), make([]byte, 16<<10)
	start := monotonic()
	for begun, ended := 0, 0; ended < c.streams; {
		wait := -1
		if begun < c.streams {
			wait = 1 // ms
			for begun < c.streams && monotonic().Sub(start) >= c.begin(begun) {
				if err := c.open(begun); err != nil {
					return err
				}
				begun++
			}
		}
		n, err := unix.EpollWait(c.poll, ready, wait)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, e := range ready[:max(0, n)] {
			end, err := c.readers[e.Fd].read(buf, c.tokens)
			if err != nil {
				return fmt.Errorf("reading stream %d: %w", e.Fd, err)
			}
			if end {
				ended++
			}
		}
	}
	return nil
}

// open sends the request of stream i.
func (c *paceClient) open(i int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, c.to); err != nil {
		return err
	}
	body := fmt.Sprintf(`{"prompt":"a b c d","max_tokens":%d,"stream":true}`, c.tokens)
	if _, err := unix.Write(fd, fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %d\r\nContent-Length: %d\r\n\r\n%s", i, len(body), body)); err != nil {
		return err
	}
	c.readers[i].fd = fd
	return unix.EpollCtl(c.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})
}

// read takes what has come, and stamps its tokens. It closes the connection after the last one.
func (r *paceReader) read(buf []byte, tokens int) (end bool, err error) {
	n, err := unix.Read(r.fd, buf)
	if err != nil || n == 0 {
		return false, fmt.Errorf("after %d tokens: %w", len(r.stamps), errors.Join(err, errors.New("no more data")))
	}
	now := monotonic()
	for _, c := range buf[:n] {
		switch {
		case c == tokenMark[r.matched]:
			r.matched++
		case c == tokenMark[0]:
			r.matched = 1
		default:
			r.matched = 0
		}
		if r.matched == len(tokenMark) {
			r.matched = 0
			r.stamps = append(r.stamps, now)
		}
	}
	if len(r.stamps) < tokens {
		return false, nil
	}
	return true, unix.Close(r.fd)
}

// The client counts a mark that lies in two reads once.
func TestPaceClientCountsTokens(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	r := paceReader{fd: pair[1]}
	buf := make([]byte, 64)
	for _, part := range []string{"ddata: {x}\n\ndat", "a: {y}\n\ndata", ": [DONE]\n\ndata: {z}\n\n"} {
		if _, err := unix.Write(pair[0], []byte(part)); err != nil {
			t.Fatal(err)
		}
		end, err := r.read(buf, 3)
		if err != nil || end != (len(r.stamps) == 3) {
			t.Errorf("end %v, %v after %d tokens", end, err, len(r.stamps))
		}
	}
	if len(r.stamps) != 3 || r.stamps[0] == 0 || time.Duration(r.stamps[2]-r.stamps[0]) < 0 {
		t.Errorf("stamps %v", r.stamps)
	}
}

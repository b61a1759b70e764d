package otlpin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Server listens for a Receiver.
type Server struct {
	grpc    *grpc.Server
	http    *http.Server
	addrs   [2]net.Addr
	serving sync.WaitGroup
}

// Listen starts to receive: gRPC at grpcAddr and HTTP at httpAddr, where "" is neither.
// An address without a host is of the loopback interface only.
func (r *Receiver) Listen(grpcAddr, httpAddr string) (*Server, error) {
	s := &Server{}
	if grpcAddr != "" {
		l, err := listen(grpcAddr)
		if err != nil {
			return nil, err
		}
		s.grpc, s.addrs[0] = r.GRPC(), l.Addr()
		// It ends with Stop, or takes the listener with it: no span is then lost in silence,
		// since exporters complain, and coverage is printed.
		s.serving.Go(func() { _ = s.grpc.Serve(l) })
	}
	if httpAddr != "" {
		l, err := listen(httpAddr)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.http = &http.Server{Handler: r.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
		s.addrs[1] = l.Addr()
		s.serving.Go(func() { _ = s.http.Serve(l) })
	}
	return s, nil
}

func listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address of the form 127.0.0.1:4317: %w", addr, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listening for spans: %w (another run may listen there: choose another port)", err)
	}
	return l, nil
}

// Addrs are the addresses of gRPC and HTTP; nil: it does not listen there.
func (s *Server) Addrs() (grpcAddr, httpAddr net.Addr) { return s.addrs[0], s.addrs[1] }

// closing is how long an export that has begun may take to end.
const closing = 2 * time.Second

// Close stops receiving. Exports that have begun are answered, unless they take long.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if s.grpc != nil {
		stopped := make(chan struct{})
		go func() {
			s.grpc.GracefulStop()
			close(stopped)
		}()
		select {
		case <-stopped:
		case <-ctx.Done():
			s.grpc.Stop()
			<-stopped
		}
	}
	var err error
	if s.http != nil && s.http.Shutdown(ctx) != nil {
		err = s.http.Close()
	}
	s.serving.Wait()
	return err
}

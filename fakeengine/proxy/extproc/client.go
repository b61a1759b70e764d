package extproc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
)

// Names of the endpoint picker protocol.
const (
	// HeaderDestination is the header, and the key of the metadata, in which a picker
	// names endpoints: addresses with ports, the best one first, split by commas.
	HeaderDestination = "x-gateway-destination-endpoint"
	// NamespaceDestination is that of the metadata.
	NamespaceDestination = "envoy.lb"

	headerServed    = "x-gateway-destination-endpoint-served"
	namespaceSubset = "envoy.lb.subset_hint"
	keySubset       = "x-gateway-destination-endpoint-subset"

	method = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
)

// Config says where the picker is. Addr is required.
type Config struct {
	// Addr is HOST:PORT, or tls://HOST:PORT for TLS. The certificate is not checked:
	// pickers make their own.
	Addr string
	// Timeout is how long a picker may owe something before the exchange is given up;
	// 0: 1 s. It is noticed within one and a half times of that.
	Timeout time.Duration
	// Endpoints are what may be picked; none: no word of it is said to the picker.
	Endpoints []string
	// Requests: the picker sees no answers.
	Requests bool
}

// Client asks one picker. It connects when it is first needed and again when the
// connection is lost. Its methods may be called from any goroutine.
type Client struct {
	conn     *grpc.ClientConn
	timeout  time.Duration
	subset   []byte // metadata
	requests bool
	counts   [numCounters]atomic.Int64
}

// Counter counts exchanges by what became of them.
type Counter uint8

// The counters.
const (
	// Asked are all exchanges.
	Asked Counter = iota
	// Picked are those for which endpoints were named.
	Picked
	// Answered are those that the picker answered itself.
	Answered
	// TimedOut are those in which it owed something for too long.
	TimedOut
	// Unreachable are those for which there was no connection to it, or it was lost.
	Unreachable
	// Failed are those that it ended with an error, or in which it did not keep to the
	// protocol.
	Failed
	// Abandoned are those whose client left before they were decided.
	Abandoned
	// Dropped are changes of headers that can't be made.
	Dropped

	numCounters
)

// String names the counter.
func (c Counter) String() string {
	return [...]string{"asked", "picked", "answered by the picker", "timed out", "unreachable", "failed", "left by the client", "header changes dropped"}[c]
}

// Count is how many there were.
func (c *Client) Count(n Counter) int64 { return c.counts[n].Load() }

// Counters lists all of them.
func Counters() []Counter {
	return []Counter{Asked, Picked, Answered, TimedOut, Unreachable, Failed, Abandoned, Dropped}
}

// New returns a client; it makes no connection yet.
func New(c Config) (*Client, error) {
	addr, secure := strings.CutPrefix(c.Addr, "tls://")
	if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("%q is not the address of an endpoint picker: write it as 127.0.0.1:9002, or tls://127.0.0.1:9002", c.Addr)
	}
	if c.Timeout < 0 {
		return nil, errors.New("the time that a picker may take can't be negative")
	}
	out := &Client{timeout: c.Timeout, requests: c.Requests}
	if out.timeout == 0 {
		out.timeout = time.Second
	}
	if len(c.Endpoints) > 0 {
		out.subset = metadata(namespaceSubset, keySubset, listValue(c.Endpoints))
	}
	creds := insecure.NewCredentials()
	if secure {
		creds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	again := grpc.ConnectParams{MinConnectTimeout: out.timeout, Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second}}
	var err error
	out.conn, err = grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds), grpc.WithConnectParams(again),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("setting up the way to the endpoint picker: %w", err)
	}
	return out, nil
}

// maxMessage bounds one message of a picker.
const maxMessage = 64 << 20

// Close ends the connection, and with it all exchanges.
func (c *Client) Close() error { return c.conn.Close() }

// Connect begins to connect, so that the first request need not.
func (c *Client) Connect() { c.conn.Connect() }

func (c *Client) stream(ctx context.Context) (grpc.ClientStream, error) {
	return c.conn.NewStream(ctx, &grpc.StreamDesc{StreamName: "Process", ServerStreams: true, ClientStreams: true}, method)
}

// frame is a message as it is on the wire.
type frame []byte

// codec leaves frames as they are. Its name is that of the format of their content.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("%T is no frame", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*f)}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("%T is no frame", v)
	}
	*f = data.Materialize()
	return nil
}

package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
)

// front is one HTTP port: all replicas or one of them.
type front struct {
	srv     *Server
	replica int // anyReplica: all
	routes  []route
}

type route struct {
	path    string
	methods []string
	serve   http.HandlerFunc
}

func newFront(s *Server, replica int) *front {
	f := &front{srv: s, replica: replica}
	read, write := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	generate := func(a api) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { f.generate(w, r, a) }
	}
	f.routes = []route{
		{"/v1/chat/completions", write, generate(chat)},
		{"/v1/completions", write, generate(completions)},
		{"/v1/responses", write, generate(responses)},
		{"/v1/embeddings", write, generate(embeddings)},
		{"/v1/models", read, f.models},
		{"/v1/load_lora_adapter", write, f.loadAdapter},
		{"/v1/unload_lora_adapter", write, f.unloadAdapter},
		{"/tokenize", write, f.tokenize},
		{"/reset_prefix_cache", write, f.resetCache},
		{"/metrics", read, f.metrics},
		{"/health", read, f.health},
		{"/version", read, f.version},
	}
	return f
}

// decoder reads the bodies that come to this front.
func (f *front) decoder(s shape) *decoder {
	return &decoder{
		model:    func(name string) (servedModel, *apiError) { return f.srv.resolve(name, f.replica) },
		modelLen: f.srv.engine.MaxModelLen,
		shape:    s,
		ranked:   f.srv.engine.Policy == engine.Priority,
	}
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.replica != anyReplica && f.srv.replicas[f.replica].down.Load() {
		panic(http.ErrAbortHandler) // a process that is not there does not answer
	}
	i := slices.IndexFunc(f.routes, func(x route) bool { return x.path == r.URL.Path })
	if i < 0 {
		paths := make([]string, len(f.routes))
		for i, x := range f.routes {
			paths[i] = x.path
		}
		plainError(http.StatusNotFound, "there is no %s here; this server has %s", r.URL.Path, strings.Join(paths, ", ")).write(w)
		return
	}
	x := f.routes[i]
	if !slices.Contains(x.methods, r.Method) {
		allowed := strings.Join(x.methods, ", ")
		w.Header().Set("Allow", allowed)
		plainError(http.StatusMethodNotAllowed, "%s does not take %s; use %s", x.path, r.Method, allowed).write(w)
		return
	}
	x.serve(w, r)
}

// health says whether new requests would be taken.
func (f *front) health(w http.ResponseWriter, _ *http.Request) {
	f.srv.mu.Lock()
	closing := f.srv.closing
	f.srv.mu.Unlock()
	if closing {
		shuttingDown().write(w)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func shuttingDown() *apiError {
	return plainError(http.StatusServiceUnavailable, "the server is shutting down; send new requests elsewhere")
}

// metrics copies the replicas' state on the loop, and renders it here.
func (f *front) metrics(w http.ResponseWriter, r *http.Request) {
	s := f.srv
	sc := &scrape{srv: s, replica: f.replica, done: make(chan []snapshot, 1)}
	s.loop.Post(sc)
	select {
	case replicas := <-sc.done:
		x := exposition{
			release: s.release, families: &s.families, model: escapeLabel(s.model), caching: s.engine.PrefixCaching, blockSize: s.engine.BlockSize,
			drafts: s.engine.Speculation.Drafts(), maxLoras: s.engine.LoRA.MaxLoras, now: s.wall(), names: s.names,
			offload: s.engine.Offload.Blocks > 0, blockBytes: s.block,
		}
		out := x.write(replicas)
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
		_, _ = w.Write(out) // nobody is left to tell
	case <-s.closed:
		shuttingDown().write(w)
	case <-r.Context().Done():
	}
}

func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// scrape copies the state of replicas at an instant of the loop.
type scrape struct {
	srv     *Server
	replica int
	done    chan []snapshot // room for the one answer
}

var _ clock.Event = (*scrape)(nil)

// Fire implements clock.Event.
func (sc *scrape) Fire(clock.Time) {
	from := sc.srv.replicas
	if sc.replica != anyReplica {
		from = from[sc.replica : sc.replica+1]
	}
	out := make([]snapshot, len(from))
	for i, r := range from {
		out[i] = snapshot{engine: r.label, created: r.created, blocks: r.blocks, stats: r.engine.Stats(), tally: r.tally, speculated: r.engine.Speculated()}
		out[i].running, out[i].waiting = r.engine.AppendAdapters(nil, nil)
		f := sc.srv.faults.State(max(sc.replica, 0) + i)
		out[i].nan, out[i].absent = f.NaN, f.Down || !sc.srv.running(max(sc.replica, 0)+i)
	}
	out = slices.DeleteFunc(out, func(s snapshot) bool { return s.absent })
	if sc.replica != anyReplica && len(out) > 0 {
		out[0].engine = "0" // a port of its own is an engine of its own
	}
	sc.done <- out
}

// Entity is the same for all scrapes: they change nothing.
func (sc *scrape) Entity() uint64 { return 0 }

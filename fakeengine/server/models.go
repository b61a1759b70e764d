package server

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"goodput/loadgen/clock"
)

// adapter is a LoRA adapter that was loaded at least once. Its number is its
// place in the list, from 1, and stays when it is unloaded.
type adapter struct {
	name, path string
	nameStr    []byte // name as a JSON string
	since      int64  // Unix seconds of the last load
	on         []bool // the replicas that have it
}

// everywhere reports whether the replicas behind a front have it.
func (a *adapter) everywhere(replica int) bool {
	if replica != anyReplica {
		return a.on[replica]
	}
	for _, on := range a.on {
		if !on {
			return false
		}
	}
	return true
}

func (a *adapter) set(replica int, on bool) {
	for i := range a.on {
		if replica == anyReplica || i == replica {
			a.on[i] = on
		}
	}
}

// find returns an adapter by name; the caller holds mu.
func (s *Server) find(name string) (number int, a *adapter) {
	for i := range s.adapters {
		if s.adapters[i].name == name {
			return i + 1, &s.adapters[i]
		}
	}
	return 0, nil
}

// resolve finds the model of a request to a front.
func (s *Server) resolve(name string, replica int) (servedModel, *apiError) {
	if name == "" || name == s.model {
		return servedModel{name: s.modelStr}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, a := s.find(name)
	if a == nil || !a.everywhere(replica) {
		return servedModel{}, unknownModel(name, s.model)
	}
	return servedModel{name: a.nameStr, adapter: uint16(n), adapterName: name}, nil
}

// forget takes all adapters from a replica that crashed, but those that it is
// started with.
func (s *Server) forget(replica int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.adapters {
		s.adapters[i].set(replica, i < s.static)
	}
}

// names are the names of adapters by number, joined by commas.
func (s *Server) names(numbers []uint16) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []byte
	for i, n := range numbers {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, s.adapters[n-1].name...)
	}
	return string(out)
}

// place has the engines of a front load or unload an adapter, on the loop.
type place struct {
	srv     *Server
	replica int
	number  uint16
	unload  bool
}

var _ clock.Event = (*place)(nil)

// Fire implements clock.Event.
func (e *place) Fire(clock.Time) {
	for i, r := range e.srv.replicas {
		switch {
		case e.replica != anyReplica && e.replica != i:
		case e.unload:
			r.engine.UnloadAdapter(e.number)
		default:
			r.engine.LoadAdapter(e.number)
		}
	}
}

// Entity puts it before all requests of the same instant.
func (e *place) Entity() uint64 { return 0 }

// models lists the base model and the adapters.
func (f *front) models(w http.ResponseWriter, _ *http.Request) {
	s := f.srv
	b := append([]byte(nil), `{"object":"list","data":[`...)
	b = appendModel(b, s.modelStr, s.started, s.model)
	b = append(b, `,"parent":null,"max_model_len":`...)
	b = strconv.AppendInt(b, int64(s.engine.MaxModelLen), 10)
	b = append(b, '}')
	s.mu.Lock()
	for i := range s.adapters {
		if a := &s.adapters[i]; a.everywhere(f.replica) {
			b = appendModel(append(b, ','), a.nameStr, a.since, a.path)
			b = append(b, `,"parent":`...)
			b = append(b, s.modelStr...)
			b = append(b, `,"max_model_len":null}`...)
		}
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, append(b, "]}"...))
}

func appendModel(dst, id []byte, created int64, root string) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"object":"model","created":`...)
	dst = strconv.AppendInt(dst, created, 10)
	dst = append(dst, `,"owned_by":"goodput","root":`...)
	return appendString(dst, root)
}

// adapterBody is what loading and unloading take.
type adapterBody struct {
	Name    string `json:"lora_name"`
	Path    string `json:"lora_path"`
	Inplace bool   `json:"load_inplace"`
}

func (f *front) adapterBody(w http.ResponseWriter, r *http.Request) (adapterBody, *apiError) {
	var b adapterBody
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAdminBody)).Decode(&b); err != nil {
		return b, badJSON(err)
	}
	if b.Name == "" {
		return b, badRequest("lora_name", "lora_name is missing; send the name of the adapter")
	}
	return b, nil
}

// loadAdapter makes a name known and brings the adapter to the engines' GPUs, in
// the place of another one if need be. Nothing is read: path is kept to be listed.
func (f *front) loadAdapter(w http.ResponseWriter, r *http.Request) {
	b, err := f.adapterBody(w, r)
	if err == nil && b.Path == "" {
		err = badRequest("lora_path", "lora_path is missing; any text will do, nothing is read from it")
	}
	if err == nil {
		err = f.srv.load(b, f.replica)
	}
	if err != nil {
		err.write(w)
		return
	}
	writeText(w, "Success: LoRA adapter '"+b.Name+"' added successfully.")
}

func (s *Server) load(b adapterBody, replica int) *apiError {
	now := s.wall()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, a := s.find(b.Name)
	switch {
	case s.engine.LoRA.MaxLoras == 0:
		return badRequest("", "the engines have no places for adapters; start the server with --engine.enable-lora")
	case b.Name == s.model || a != nil && a.everywhere(replica) && !b.Inplace:
		return badRequest("lora_name", "%q is loaded already; unload it first, or send load_inplace", b.Name)
	case a == nil && len(s.adapters) == math.MaxUint16:
		return badRequest("lora_name", "there have been %d adapters; restart the server for more", math.MaxUint16)
	case a == nil:
		s.adapters = append(s.adapters, adapter{name: b.Name, nameStr: appendString(nil, b.Name), on: make([]bool, len(s.replicas))})
		n = len(s.adapters)
		a = &s.adapters[n-1]
	}
	a.path, a.since = b.Path, now
	a.set(replica, true)
	s.loop.Post(&place{srv: s, replica: replica, number: uint16(n)})
	return nil
}

func (f *front) unloadAdapter(w http.ResponseWriter, r *http.Request) {
	b, err := f.adapterBody(w, r)
	if err == nil {
		err = f.srv.unload(b.Name, f.replica)
	}
	if err != nil {
		err.write(w)
		return
	}
	writeText(w, "Success: LoRA adapter '"+b.Name+"' removed successfully.")
}

func (s *Server) unload(name string, replica int) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, a := s.find(name)
	if a == nil || !a.everywhere(replica) {
		return &apiError{status: http.StatusNotFound, kind: "NotFoundError", param: "lora_name", message: "the adapter " + strconv.Quote(name) + " is not loaded; /v1/models lists those that are"}
	}
	a.set(replica, false)
	s.loop.Post(&place{srv: s, replica: replica, number: uint16(n), unload: true})
	return nil
}

package promscrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// patience is how long a page may take.
const patience = 5 * time.Second

// accept asks for the text format: other ones have no plain counters, or no names.
const accept = "text/plain;version=0.0.4;q=1,*/*;q=0.1"

// Page is where something tells of itself.
type Page struct {
	// Name is the replica's in the record; URL is that of its metrics.
	Name, URL string
}

// Config says what is read and where it goes.
type Config struct {
	Pages []Page
	// Interval is the time between two samples.
	Interval time.Duration
	Client   *http.Client
	// Stamp tells the instants of the run. Before it has begun they are Never: a sample of
	// then is at 0, and as of an instant that is not known.
	Stamp clock.Stamper
	// Emit takes each sample, one at a time; it must not keep it. It must not wait.
	Emit func(*record.EngineSample)
}

// Scraper reads pages now and then, on goroutines of its own. Its methods may be called
// from any goroutine.
type Scraper struct {
	cfg   Config
	pages []*page

	mu        sync.Mutex // of Emit and the counters
	counters  map[string]int64
	lastError error
}

// page is one of Config.Pages, with what was seen there.
type page struct {
	Page
	mu     sync.Mutex // held while it is read
	parser *parser
	first  string // key of the only worker of the first page that had one
	named  bool
	last   map[string]*[record.NumSignals]float64 // by the replica's name
}

// New returns a scraper that has read nothing yet.
func New(c Config) (*Scraper, error) {
	if c.Interval <= 0 || c.Stamp == nil || c.Emit == nil || c.Client == nil {
		return nil, errors.New("a scraper needs an interval, a client, a clock and somebody who takes the samples")
	}
	s := &Scraper{cfg: c, counters: map[string]int64{
		"scrapes": 0, "scrapes_failed": 0, "scrapes_skipped": 0, "scrape_lines_bad": 0, "scrape_values_bad": 0,
		"scrape_series_double": 0, "scrape_counter_resets": 0,
	}}
	for _, p := range c.Pages {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%q is no URL of the form http://127.0.0.1:8000/metrics", p.URL)
		}
		s.pages = append(s.pages, &page{Page: p, parser: newParser(), last: map[string]*[record.NumSignals]float64{}})
	}
	return s, nil
}

// Start reads all pages at every interval until stop is called, which waits for the one
// that is being read. A page that takes longer than an interval is not asked twice at a
// time.
func (s *Scraper) Start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var under sync.WaitGroup
	end := clock.Every(s.cfg.Interval, func() {
		for _, p := range s.pages {
			if !p.mu.TryLock() {
				s.count("scrapes_skipped", 1)
				continue
			}
			under.Go(func() {
				defer p.mu.Unlock()
				s.sample(ctx, p)
			})
		}
	})
	return sync.OnceFunc(func() {
		end()
		cancel()
		under.Wait()
	})
}

// Read reads all pages once, side by side, and returns when it has, or when ctx ends.
func (s *Scraper) Read(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range s.pages {
		all.Go(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			s.sample(ctx, p)
		})
	}
	all.Wait()
}

// Counters are everything that was counted (loadgen/record/FORMAT.md).
func (s *Scraper) Counters() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int64, len(s.counters))
	for k, n := range s.counters {
		out[k] = n
	}
	return out
}

// Err is the last reason why a page could not be read; nil: all could.
func (s *Scraper) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastError
}

func (s *Scraper) count(name string, n int64) {
	s.mu.Lock()
	s.counters[name] += n
	s.mu.Unlock()
}

// sample reads a page, whose lock the caller holds.
func (s *Scraper) sample(ctx context.Context, p *page) {
	asked := s.cfg.Stamp.Stamp()
	workers, f, err := fetch(ctx, s.cfg.Client, p)
	at := s.cfg.Stamp.Stamp()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return // the end of the run broke it off
	}
	s.counters["scrape_lines_bad"] += f.lines
	s.counters["scrape_values_bad"] += f.values
	s.counters["scrape_series_double"] += f.twice
	if err != nil {
		s.counters["scrapes_failed"]++
		s.lastError = fmt.Errorf("%s: %w", p.URL, err)
		return
	}
	s.counters["scrapes"]++
	if !at.Known() {
		at = 0
	}
	for _, w := range workers {
		out := record.UnknownSample()
		out.At, out.AsOf, out.Replica = at, asked, p.replica(w, len(workers))
		out.Role, out.Source, out.Dialect, out.Values = w.role, record.SampleScrape, w.dialect, w.values
		s.counters["scrape_counter_resets"] += p.resets(out.Replica, &w.values)
		s.cfg.Emit(&out)
	}
}

// replica names a worker: after the page where it is alone.
func (p *page) replica(w *worker, of int) string {
	if !p.named && of == 1 {
		p.first = w.key
	}
	if !p.named {
		p.named = true
		if of > 1 {
			p.first = "\x00" // none is alone
		}
	}
	if w.key == p.first || w.key == "" {
		return p.Name
	}
	return p.Name + "/" + w.key
}

// resets is how many counters of a replica are lower than before.
func (p *page) resets(name string, now *[record.NumSignals]float64) (n int64) {
	last := p.last[name]
	if last != nil {
		for i := range now {
			if !record.Signal(i).Level() && now[i] < last[i] {
				n++
			}
		}
	}
	p.last[name] = now
	return n
}

// fetch gets and reads a page.
func fetch(ctx context.Context, c *http.Client, p *page) ([]*worker, faults, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return nil, faults{}, err
	}
	q.Header.Set("Accept", accept)
	q.Header.Set("User-Agent", "goodput")
	resp, err := c.Do(q)
	if err != nil {
		return nil, faults{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, resp.Body, maxLine) // so that the connection can be used again
		return nil, faults{}, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind != "text/plain" && kind != "application/openmetrics-text" {
		return nil, faults{}, fmt.Errorf("the page is %s, and text/plain was asked for", kind)
	}
	workers, f, err := p.parser.page(resp.Body)
	if err == nil && len(workers) == 0 {
		err = errForeign
	}
	return workers, f, err
}

// Known reports whether there is a page at the URL that tells of something known here.
func Known(ctx context.Context, c *http.Client, at string) error {
	_, _, err := fetch(ctx, c, &page{Page: Page{URL: at}, parser: newParser()})
	return err
}

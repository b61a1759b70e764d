package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// MaxScript is the largest script that is read, in bytes.
const MaxScript = 1 << 20

// entry is a fault as it is written. A key that was left out is nil.
type entry struct {
	At         *string `yaml:"at"`
	For        *string `yaml:"for"`
	Replica    *int    `yaml:"replica"`
	RetryAfter *string `yaml:"retry_after"`

	Slow     *float64 `yaml:"slow"`
	Stall    *bool    `yaml:"stall"`
	Kill     *bool    `yaml:"kill"`
	Restart  *bool    `yaml:"restart"`
	HTTP     *int     `yaml:"http"`
	Truncate *bool    `yaml:"truncate"`
	Usage    *float64 `yaml:"usage"`
	Metrics  *string  `yaml:"metrics"`
	Drain    *bool    `yaml:"drain"`
	Join     *bool    `yaml:"join"`
}

// Parse reads a script. name is for error texts, which give line and column where
// they can.
func Parse(name string, text []byte) (Script, error) {
	if len(text) > MaxScript {
		return nil, fmt.Errorf("reading faults %s: %d bytes are more than the limit of %d", name, len(text), MaxScript)
	}
	var entries []*entry
	err := decode(text, &entries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading faults %s: %s", name, yaml.FormatError(err, false, true))
	}
	script := make(Script, 0, len(entries))
	for i, e := range entries {
		f, key, err := e.fault()
		if err != nil {
			return nil, fmt.Errorf("reading faults %s%s: fault %d: %w", name, position(text, i, key), i+1, err)
		}
		script = append(script, f)
	}
	return script, nil
}

// decode turns a panic of the library, which unusual tags provoke, into an
// error: a file cannot end the program.
func decode(text []byte, to *[]*entry) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML cannot be read: write a list of plain keys and values, without tags or anchors")
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := d.Decode(to); err != nil {
		return err
	}
	if err := d.Decode(new([]*entry)); !errors.Is(err, io.EOF) {
		return errors.New("there is a second document: write all faults into one list")
	}
	return nil
}

// position is where a key of entry i stands, as :line:column; "" if the library
// cannot tell. Without a key it is that of the entry.
func position(text []byte, i int, key string) (at string) {
	defer func() {
		if recover() != nil {
			at = ""
		}
	}()
	where := fmt.Sprintf("$[%d]", i)
	if key != "" {
		where += "." + key
	}
	path, err := yaml.PathString(where)
	if err != nil {
		return ""
	}
	node, err := path.ReadNode(bytes.NewReader(text))
	if err != nil || node == nil || node.GetToken() == nil {
		return ""
	}
	p := node.GetToken().Position
	return fmt.Sprintf(":%d:%d", p.Line, p.Column)
}

// fault is what e says, or what is wrong with it and in which key.
func (e *entry) fault() (Fault, string, error) {
	f := Fault{Replica: All}
	if e == nil {
		return f, "", errors.New("it is empty: write at and a fault, such as {at: 60s, for: 30s, slow: 2.0}")
	}
	if e.At == nil {
		return f, "", errors.New("at is missing: write when it begins, such as at: 60s")
	}
	for _, d := range []struct {
		key string
		raw *string
		to  *time.Duration
	}{{"at", e.At, &f.At}, {"for", e.For, &f.For}, {"retry_after", e.RetryAfter, &f.RetryAfter}} {
		if d.raw == nil {
			continue
		}
		// The library would parse durations as well, but not say where it failed.
		var err error
		if *d.to, err = time.ParseDuration(*d.raw); err != nil {
			return f, d.key, fmt.Errorf("%s is %q: write a number with a unit, such as 60s or 1m30s", d.key, *d.raw)
		}
	}
	if e.For != nil && f.For == 0 {
		return f, "for", errors.New("for is 0s: write how long it lasts, or leave it out for a fault that stays")
	}
	if e.Replica != nil {
		if f.Replica = *e.Replica; f.Replica < 0 {
			return f, "replica", fmt.Errorf("replica is %d: write a number from 0, or leave it out for all", f.Replica)
		}
	}
	if key, err := e.kind(&f); err != nil {
		return f, key, err
	}
	if e.RetryAfter != nil && f.Kind != HTTP {
		return f, "retry_after", errors.New("retry_after belongs to http: leave it out")
	}
	key, err := f.check()
	return f, key, err
}

// kind fills in the one fault of e.
func (e *entry) kind(f *Fault) (string, error) {
	var given []string
	set := func(k Kind, there bool) {
		if there {
			f.Kind, given = k, append(given, k.String())
		}
	}
	var off string
	flag := func(k Kind, b *bool) {
		set(k, b != nil)
		if b != nil && !*b {
			off = k.String()
		}
	}
	if set(Slow, e.Slow != nil); e.Slow != nil {
		f.Factor = *e.Slow
	}
	if set(Usage, e.Usage != nil); e.Usage != nil {
		f.Factor = *e.Usage
	}
	if set(HTTP, e.HTTP != nil); e.HTTP != nil {
		f.Status = *e.HTTP
	}
	set(Metrics, e.Metrics != nil)
	flag(Stall, e.Stall)
	flag(Kill, e.Kill)
	flag(Restart, e.Restart)
	flag(Truncate, e.Truncate)
	flag(Drain, e.Drain)
	flag(Join, e.Join)
	switch {
	case len(given) == 0:
		return "", fmt.Errorf("no fault is named: add one of %s", strings.Join(names[:], ", "))
	case len(given) > 1:
		return given[1], fmt.Errorf("%s are several faults: write one per entry", strings.Join(given, " and "))
	case off != "":
		return off, fmt.Errorf("%s is false: write true, or leave the entry out", off)
	case e.Metrics != nil && *e.Metrics != "nan":
		return "metrics", fmt.Errorf("metrics is %q: the one thing that can happen to them is nan", *e.Metrics)
	}
	return "", nil
}

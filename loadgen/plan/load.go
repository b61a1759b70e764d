package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxFile is the largest plan file that is read, in bytes.
const MaxFile = 1 << 20

// octal finds a plain scalar with a leading zero: YAML 1.1 would read 010 as 8,
// which nobody who writes a rate means.
var octal = regexp.MustCompile(`(?m)^\s*(?:[\w.-]+:|-)\s+([+-]?0[0-7_]+)\s*(?:#.*)?$`)

// Load reads YAML over p: keys that the text leaves out keep their value. An
// unknown or doubled key is an error with line, column and the source line.
// name is for error texts.
func Load(p *Plan, name string, text []byte) error {
	if len(text) > MaxFile {
		return fmt.Errorf("reading plan %s: %d bytes are more than the limit of %d", name, len(text), MaxFile)
	}
	if m := octal.FindSubmatchIndex(text); m != nil {
		line := 1 + bytes.Count(text[:m[2]], []byte("\n"))
		return fmt.Errorf("reading plan %s:%d: %s has a leading zero: write it without", name, line, text[m[2]:m[3]])
	}
	q := *p
	if err := decode(text, &q); err != nil {
		return fmt.Errorf("reading plan %s: %s", name, yaml.FormatError(err, false, true))
	}
	*p = q
	return nil
}

// decode sets the fields of q that the text names. It turns a panic of the
// library, which unusual text provokes, into an error: a file can't end the
// program.
func decode(text []byte, q *Plan) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML can't be read: " + plainYAML)
		}
	}()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return err
	}
	fields := map[string]Field{}
	for _, f := range Fields() {
		fields[f.Key] = f
	}
	found := false
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if found {
			return fault(doc.Body, "a second document: a plan is one")
		}
		found = true
		body, ok := doc.Body.(ast.MapNode)
		if !ok {
			return fault(doc.Body, "a plan is lines of the form key: value, where a key is the name of a flag")
		}
		for it := body.MapRange(); it.Next(); {
			if err := setKey(q, fields, it.Key(), it.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

const plainYAML = "write plain keys and values, without tags, anchors or merges"

// setKey sets the field that one line of the plan names.
func setKey(q *Plan, fields map[string]Field, key ast.MapKeyNode, value ast.Node) error {
	name, _ := scalar(key)
	f, ok := fields[name]
	if !ok {
		return fault(key, "unknown key %q: the keys are the names of the flags", name)
	}
	items := []ast.Node{value}
	if list, ok := value.(*ast.SequenceNode); ok {
		if !f.List {
			return fault(value, "%s takes one value, not a list", name)
		}
		items = list.Values
	}
	if f.List {
		f.clear(q)
	}
	for _, item := range items {
		text, ok := scalar(item)
		if m, is := item.(ast.MapNode); is && name == classesKey {
			var err error
			if text, err = classOf(m); err != nil {
				return err
			}
			ok = true
		}
		switch {
		case item.Type() == ast.NullType:
			return fault(item, "%s has no value: write one (the word null in quotes), or leave the key out", name)
		case !ok:
			return fault(item, "%s: %s", name, plainYAML)
		}
		if err := f.Set(q, text); err != nil {
			return fault(item, "%s: %w", name, err)
		}
	}
	return nil
}

// classesKey is the field whose items may be written as mappings.
const classesKey = "class"

// classOf is the text of a class that is written as a mapping, whose keys are name and
// those of the plan. A list stands for the key with each of its values.
func classOf(m ast.MapNode) (string, error) {
	name := ""
	var pairs [][2]string
	for it := m.MapRange(); it.Next(); {
		key, _ := scalar(it.Key())
		items := []ast.Node{it.Value()}
		if list, ok := it.Value().(*ast.SequenceNode); ok {
			items = list.Values
		}
		for _, item := range items {
			text, ok := scalar(item)
			switch {
			case !ok:
				return "", fault(item, "%s of a class: %s", key, plainYAML)
			case strings.Contains(text, `"`):
				return "", fault(item, "%s of a class: it can't hold a double quote", key)
			case key == "name" && name != "":
				return "", fault(item, "a class has one name")
			case key == "name":
				name = text
			default:
				pairs = append(pairs, [2]string{key, text})
			}
		}
	}
	if name == "" {
		return "", fault(m.(ast.Node), "a class has a name: add the key name")
	}
	return classText(name, pairs), nil
}

// scalar is the text of a plain value, as it was written.
func scalar(n ast.Node) (text string, ok bool) {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return x.GetToken().Value, true
	}
	return "", false
}

// fault is an error that shows where n stands.
func fault(n ast.Node, format string, args ...any) error {
	return &yaml.SyntaxError{Message: fmt.Errorf(format, args...).Error(), Token: n.GetToken()}
}

// YAML is the resolved plan as a file that Load reads back to the same plan.
// Values of headers are left out: they may be keys.
func (p Plan) YAML() ([]byte, error) {
	p.Header = headerNames(p.Header)
	b, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("writing the plan: %w", err)
	}
	return b, nil
}

// Hash identifies what the run offers and to whom: 12 hexadecimal digits of a
// SHA-256 over key=value lines of all hashed fields. Plans that differ only in
// where results go have the same hash.
func (p Plan) Hash() string {
	h := sha256.New()
	public := p
	public.Header = headerNames(p.Header)
	for _, f := range Fields() {
		if !f.Hashed {
			continue
		}
		from := &p
		if f.Secret {
			from = &public
		}
		fmt.Fprintf(h, "%s=%s\n", f.Key, f.Get(from))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// WithDefaults resolves what depends on other fields. timed says whether the
// dataset carries arrival times, rows how many requests, or sessions, it holds (0: as
// many as are asked for).
func (p Plan) WithDefaults(timed bool, rows int) Plan {
	p = p.withEndpoint()
	if p.Mixed() {
		return p // each class has its own
	}
	if p.Arrival == "" && p.Concurrency == 0 && p.SessionsConcurrency == 0 {
		switch {
		case timed && !p.Ramped():
			p.Arrival = "trace"
		case p.Burstiness.Inf():
			p.Arrival = "constant"
		case p.Burstiness == 1:
			p.Arrival = "poisson"
		default:
			p.Arrival = "gamma"
		}
	}
	number, usual := &p.NumPrompts, DefaultNumPrompts
	if p.DatasetName == sharedPrefix {
		usual = p.sharedPrompts()
	}
	if p.InSessions() {
		number, usual = &p.NumSessions, DefaultNumSessions
	}
	if p.Stages != "" && p.Duration == 0 && p.NumPrompts == 0 {
		if list, err := parseStages(p.Stages); err == nil {
			p.Duration = list[len(list)-1].At // 0 for a single stage
		}
	}
	switch {
	case *number > 0:
	case rows > 0:
		*number = rows
	case p.Duration == 0:
		*number = usual
	}
	return p
}

// withEndpoint is the plan with the path that its backend uses, unless it has one.
func (p Plan) withEndpoint() Plan {
	if p.Endpoint == "" {
		switch p.Backend {
		case "openai-chat":
			p.Endpoint = "/v1/chat/completions"
		case "openai-responses":
			p.Endpoint = "/v1/responses"
		case "openai-embeddings":
			p.Endpoint = "/v1/embeddings"
		default:
			p.Endpoint = "/v1/completions"
		}
	}
	return p
}

// DeadlineCap is the longest duration that a plan may hold.
const DeadlineCap = 30 * 24 * time.Hour

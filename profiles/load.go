package profiles

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed engine/*.yaml gpu/*.yaml model/*.yaml scenario/*.yaml
var files embed.FS

// GPUs lists the names that LoadGPU knows, sorted.
func GPUs() []string { return names("gpu") }

// Models lists the names that LoadModel knows, sorted.
func Models() []string { return names("model") }

// LoadGPU returns a GPU profile. An unknown name is an error that lists the
// known ones.
func LoadGPU(name string) (GPU, error) {
	data, err := read("gpu", name)
	if err != nil {
		return GPU{}, err
	}
	return ParseGPU(name, data)
}

// LoadModel returns a model profile by its name or that of a checkpoint of the same
// shape. An unknown name is an error that lists the known ones.
func LoadModel(name string) (Model, error) {
	data, err := read("model", name)
	if err == nil {
		return parseModel(name, data)
	}
	for _, known := range Models() {
		m, parseErr := LoadModel(known)
		if parseErr == nil && slices.Contains(m.Aliases, name) {
			return m, nil
		}
	}
	return Model{}, err
}

// Text returns the file of a GPU, model or engine profile, as it is embedded. An unknown
// name is an error that lists the known ones.
func Text(name string) ([]byte, error) {
	for _, kind := range []string{"gpu", "model", "engine"} {
		if slices.Contains(names(kind), name) {
			return read(kind, name)
		}
	}
	return nil, fmt.Errorf("no profile %q: use one of %s", name, strings.Join(slices.Concat(GPUs(), Models(), Engines()), ", "))
}

// ParseGPU reads and checks the text of a GPU profile of a name.
func ParseGPU(name string, data []byte) (GPU, error) {
	var g GPU
	if err := decode(data, &g); err != nil {
		return GPU{}, fmt.Errorf("GPU profile %s: %w", name, err)
	}
	if g.Name != name {
		return GPU{}, fmt.Errorf("GPU profile %s: name is %q: need the name of the file", name, g.Name)
	}
	if err := g.validate(); err != nil {
		return GPU{}, fmt.Errorf("GPU profile %s: %w", name, err)
	}
	return g, nil
}

func parseModel(name string, data []byte) (Model, error) {
	var m Model
	if err := decode(data, &m); err != nil {
		return Model{}, fmt.Errorf("model profile %s: %w", name, err)
	}
	if m.Name != name {
		return Model{}, fmt.Errorf("model profile %s: name is %q: need the name of the file", name, m.Name)
	}
	if err := m.validate(); err != nil {
		return Model{}, fmt.Errorf("model profile %s: %w", name, err)
	}
	return m, nil
}

// decode turns a panic of the library, which unusual tags provoke, into an error.
func decode(data []byte, to any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML can't be read: write plain keys and values, without tags or anchors")
		}
	}()
	return yaml.UnmarshalWithOptions(data, to, yaml.Strict())
}

func read(kind, name string) ([]byte, error) {
	known := names(kind)
	for _, k := range known {
		if k == name {
			return files.ReadFile(path.Join(kind, name+".yaml"))
		}
	}
	return nil, fmt.Errorf("no %s profile %q: use one of %s", kind, name, strings.Join(known, ", "))
}

// names lists the embedded files of a kind; ReadDir sorts them.
func names(kind string) []string {
	entries, err := files.ReadDir(kind)
	if err != nil {
		return nil // the folder is embedded, so this cannot happen
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

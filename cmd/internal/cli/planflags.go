package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goodput/loadgen/plan"
)

// planFlags makes a flag of each plan field and resolves a plan in the order
// default, file, environment, flag.
type planFlags struct {
	command *cobra.Command
	also    []string // flags of the command that are no fields of the plan
	config  string
	fields  []plan.Field
	given   map[string][]string // flag values in the order of the command line
	ignored []vllmFlag          // flags that change nothing
}

// flagValue collects the text of one flag; the plan parses it later, over the
// file and the environment.
type flagValue struct {
	f     plan.Field
	def   string
	given map[string][]string
}

func (v *flagValue) String() string { return v.def }
func (v *flagValue) Type() string   { return v.f.Type() }
func (v *flagValue) Set(s string) error {
	var scratch plan.Plan
	if err := v.f.Set(&scratch, s); err != nil {
		return err
	}
	if v.f.List {
		v.given[v.f.Key] = append(v.given[v.f.Key], s)
	} else {
		v.given[v.f.Key] = []string{s}
	}
	return nil
}

// newPlanFlags registers the fields of the given groups on c.
func newPlanFlags(c *cobra.Command, groups ...string) *planFlags {
	p := &planFlags{command: c, given: map[string][]string{}}
	def := plan.Default()
	for _, f := range plan.Fields() {
		if !slices.Contains(groups, f.Group) {
			continue
		}
		p.fields = append(p.fields, f)
		c.Flags().Var(&flagValue{f, f.Get(&def), p.given}, f.Key, f.Help)
		if f.Bool {
			c.Flags().Lookup(f.Key).NoOptDefVal = "true"
		}
		if name := alias(f.Key); name != "" {
			c.Flags().Var(&flagValue{f, f.Get(&def), p.given}, name, f.Help)
			c.Flags().Lookup(name).Hidden = true
		}
	}
	c.Flags().StringVar(&p.config, "config", "", "YAML file whose keys are flag names; flags and GOODPUT_… variables override it")
	c.Flags().SortFlags = false
	return p
}

// give is as if the command line had the field's flag.
func (p *planFlags) give(key, text string) error {
	for _, f := range p.fields {
		if f.Key == key {
			return (&flagValue{f: f, given: p.given}).Set(text)
		}
	}
	p.given[key] = []string{text}
	return nil
}

// resolve builds the plan and checks it.
func (p *planFlags) resolve(env *Env, check func(*plan.Plan) error) (plan.Plan, error) {
	out := plan.Default()
	if err := p.others(env); err != nil {
		return out, err
	}
	if err := p.address(); err != nil {
		return out, err
	}
	if err := p.sonnet(); err != nil {
		return out, err
	}
	if p.config != "" {
		text, err := readLimited(p.config, plan.MaxFile)
		if err != nil {
			return out, fmt.Errorf("reading plan: %w", err)
		}
		var file plan.Plan
		if err := plan.Load(&file, p.config, text); err != nil {
			return out, err
		}
		if err := preset(&out, file.Engine, file.GPU, file.EngineSpecMethod); err != nil {
			return out, fmt.Errorf("reading plan %s: %w", p.config, err)
		}
		if err := plan.Load(&out, p.config, text); err != nil {
			return out, err
		}
	}
	if err := preset(&out, p.environment(env, "engine"), p.environment(env, "gpu"), p.environment(env, drafterKey)); err != nil {
		return out, err
	}
	for _, f := range p.fields {
		if text := env.Getenv(f.Env()); text != "" && len(p.given[f.Key]) == 0 {
			if err := f.Replace(&out, text); err != nil {
				return out, fmt.Errorf("environment variable %s: %w", f.Env(), err)
			}
		}
	}
	if err := preset(&out, p.flag("engine"), p.flag("gpu"), p.flag(drafterKey)); err != nil {
		return out, err
	}
	for _, f := range p.fields {
		for i, text := range p.given[f.Key] {
			set := f.Set
			if i == 0 {
				set = f.Replace
			}
			if err := set(&out, text); err != nil {
				return out, fmt.Errorf("--%s: %w", f.Key, err)
			}
		}
	}
	// A sum that was given wrongly stays, and is complained of.
	if out.Split() && (p.flag("replicas") == "" && out.Replicas == plan.Default().Replicas) {
		out.Replicas = out.PrefillReplicas + out.DecodeReplicas
	}
	if n := out.MixedReplicas(); n > 0 && p.flag("replicas") == "" && out.Replicas == plan.Default().Replicas {
		out.Replicas = n
	}
	return out, check(&out)
}

// others gives the command's other flags the environment's value, unless the
// command line has one.
func (p *planFlags) others(env *Env) error {
	for _, name := range append(p.also, "config") {
		f := p.command.Flags().Lookup(name)
		variable := plan.Field{Key: name}.Env()
		text := env.Getenv(variable)
		if f.Changed || text == "" {
			continue
		}
		if err := f.Value.Set(text); err != nil {
			return fmt.Errorf("environment variable %s: %w", variable, err)
		}
	}
	return nil
}

// wrongTarget complains of flags that were given for the other kind of target:
// they would change nothing, and whoever gave them expects that they do. A plan
// file may hold both kinds. The block size counts for either, since the ideal
// cache hit is computed with it.
func (p *planFlags) wrongTarget(r *plan.Plan) error {
	elsewhere := "--base-url"
	if r.Null() {
		elsewhere = "--target null"
		if !slices.ContainsFunc(p.fields, func(f plan.Field) bool { return f.Group == "null" }) {
			return errors.New("target: null measures the generator alone: use goodput run, or leave it out")
		}
	}
	if (r.Shard != "" || r.StartAt != "") && !slices.ContainsFunc(p.fields, func(f plan.Field) bool { return f.Group == "shard" }) {
		return errors.New("shard and start-at: they are of a single run: use goodput run, or leave them out")
	}
	pool := []string{"pool", "routers", "speed", "engine", "hardware"}
	for _, f := range p.fields {
		switch {
		case len(p.given[f.Key]) == 0 || f.Key == "engine.block-size" || f.Key == "base-url":
		case !r.InPool() && slices.Contains(pool, f.Group):
			return fmt.Errorf("--%s: it sets up the in-process engines, and the load goes to %s: leave out one of the two", f.Key, elsewhere)
		case r.Null() && f.Group == "target":
			return fmt.Errorf("--%s: it is for a server, and the load goes to --target null: leave out one of the two", f.Key)
		case !r.Remote() && f.Group == "target":
			return fmt.Errorf("--%s: it is for a server, and the load goes to the in-process engines: give --base-url, or leave it out", f.Key)
		}
	}
	return nil
}

// twice complains of two flags that decide one thing. A plan file may hold both: that
// of a run holds the target and the length that followed.
func (p *planFlags) twice() error {
	const target, suffix = "prefix-repetition-target-hit", "prefix-repetition-suffix-len"
	if len(p.given[target]) > 0 && len(p.given[suffix]) > 0 {
		return fmt.Errorf("--%s: it decides --%s: leave out one of the two", target, suffix)
	}
	return nil
}

// alias is the hidden name of a flag, the one that SGLang has for the same thing; "":
// none.
func alias(key string) string {
	name, ok := strings.CutPrefix(key, "shared-prefix-")
	if ok && slices.Contains([]string{"num-groups", "prompts-per-group", "system-prompt-len", "question-len", "output-len", "num-turns"}, name) {
		return "gsp-" + name
	}
	return ""
}

// readLimited reads a file of at most limit bytes.
func readLimited(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d", name, info.Size(), limit)
	}
	return os.ReadFile(name)
}

// apiKey finds the key without ever printing it: the file of --api-key-file, or
// OPENAI_API_KEY.
func apiKey(env *Env, p *plan.Plan) (string, error) {
	key := env.Getenv("OPENAI_API_KEY")
	if p.APIKeyFile != "" {
		b, err := readLimited(p.APIKeyFile, 1<<16)
		if err != nil {
			return "", fmt.Errorf("--api-key-file: %w", err)
		}
		key = strings.TrimSpace(string(b))
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", errors.New("the API key holds characters that a header can't carry: is the file the right one?")
	}
	return key, nil
}

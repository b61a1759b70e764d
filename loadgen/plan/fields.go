package plan

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Field is one parameter of a Plan, by its YAML key.
type Field struct {
	// Key is the YAML key and the flag's name; Group and Help are for people.
	Key, Group, Help string
	// List: the field may be given several times.
	List bool
	// Bool: the field may be given without a value.
	Bool bool
	// Hashed: the field decides what the run does, and is part of Hash.
	Hashed bool
	// Secret: the values may hold keys, and are not written to the run.
	Secret bool

	index int
}

// Fields lists all parameters, in the order of their declaration.
func Fields() []Field {
	t := reflect.TypeFor[Plan]()
	out := make([]Field, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		out = append(out, Field{
			Key: key, Group: f.Tag.Get("group"), Help: f.Tag.Get("help"),
			List:   f.Type.Kind() == reflect.Slice,
			Bool:   f.Type.Kind() == reflect.Bool,
			Hashed: f.Tag.Get("hash") != "-",
			Secret: f.Tag.Get("secret") != "",
			index:  i,
		})
	}
	return out
}

// Env is the environment variable of the field: GOODPUT_ and the key in upper
// case, with _ for everything that is not a letter or a digit.
func (f Field) Env() string {
	return "GOODPUT_" + strings.Map(func(r rune) rune {
		if r == '-' || r == '.' {
			return '_'
		}
		return unicode.ToUpper(r)
	}, f.Key)
}

// Type names the value's form for a help text.
func (f Field) Type() string {
	switch reflect.New(reflect.TypeFor[Plan]().Field(f.index).Type).Interface().(type) {
	case *bool:
		return "bool"
	case *int, *uint64:
		return "int"
	case *float64, *Rate, *Speed, *Share, *Ratios:
		return "number"
	case *time.Duration:
		return "duration"
	}
	return "string"
}

// Get returns the field's value in p as text; list items are joined by spaces.
func (f Field) Get(p *Plan) string {
	v := reflect.ValueOf(p).Elem().Field(f.index)
	switch x := v.Interface().(type) {
	case []string:
		return strings.Join(x, " ")
	case fmt.Stringer:
		return x.String()
	case float64:
		return formatNumber(x, "inf")
	}
	return fmt.Sprint(v.Interface())
}

// Replace is Set, but empties a list first.
func (f Field) Replace(p *Plan, text string) error {
	if f.List {
		f.clear(p)
	}
	return f.Set(p, text)
}

func (f Field) clear(p *Plan) { reflect.ValueOf(p).Elem().Field(f.index).SetZero() }

// Set parses text into the field of p. For a list it appends.
func (f Field) Set(p *Plan, text string) error {
	switch x := reflect.ValueOf(p).Elem().Field(f.index).Addr().Interface().(type) {
	case *string:
		*x = text
	case *[]string:
		*x = append(*x, text)
	case *bool:
		return parse(text, "true or false", strconv.ParseBool, x)
	case *int:
		return parse(text, "a whole number", strconv.Atoi, x)
	case *uint64:
		return parse(text, "a whole number that is not negative", func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }, x)
	case *float64:
		return parse(text, "a number that is not negative", func(s string) (float64, error) { return parseNumber(s, "") }, x)
	case *time.Duration:
		return parse(text, "a duration such as 30s or 2m", time.ParseDuration, x)
	case interface{ UnmarshalText([]byte) error }:
		return x.UnmarshalText([]byte(text))
	default:
		return fmt.Errorf("field %s has no text form", f.Key)
	}
	return nil
}

func parse[T any](text, want string, from func(string) (T, error), to *T) error {
	v, err := from(text)
	if err != nil {
		return fmt.Errorf("%q is not %s", text, want)
	}
	*to = v
	return nil
}

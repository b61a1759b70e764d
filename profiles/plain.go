package profiles

import (
	"reflect"
	"strconv"
	"strings"
)

// plain decodes the YAML that profiles are written in: block mappings of known keys,
// block lists, flow ones on one line, and scalars on one line. Reading a profile with the YAML library, at
// about ten thousand allocations, costs as much as simulating a thousand requests.
//
// It gives up (false) at whatever else it meets, including every mistake: what a
// text means, and what is wrong with it, is the library's to say. to is then in an
// undefined state.
func plain(data []byte, to any) bool {
	p := plainText{keys: map[reflect.Type]map[string]int{}}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); !printable(line) {
			return false
		}
		text := strings.TrimLeft(line, " ")
		if text == "" || text[0] == '#' {
			continue
		}
		p.lines = append(p.lines, plainLine{len(line) - len(text), text})
	}
	v := reflect.ValueOf(to).Elem()
	return v.Kind() == reflect.Struct && p.mapping(v, 0) && len(p.lines) == 0
}

// plainText is the lines that are left, without comments, and the fields of each
// type by key.
type plainText struct {
	lines []plainLine
	keys  map[reflect.Type]map[string]int
}

type plainLine struct {
	indent int
	text   string
}

// mapping takes the keys at an indentation into a struct.
func (p *plainText) mapping(v reflect.Value, indent int) bool {
	keys := p.fields(v.Type())
	seen := uint64(0)
	for len(p.lines) > 0 && p.lines[0].indent == indent && !strings.HasPrefix(p.lines[0].text, "- ") {
		key, value, ok := strings.Cut(p.lines[0].text, ":")
		i, known := keys[key]
		if !ok || !known || i >= 64 || seen>>i&1 != 0 {
			return false
		}
		seen |= 1 << i
		p.lines = p.lines[1:]
		if !p.value(v.Field(i), value, indent) {
			return false
		}
	}
	return seen != 0 && (len(p.lines) == 0 || p.lines[0].indent < indent)
}

// value takes what stands behind the colon of a key, or below it.
func (p *plainText) value(v reflect.Value, text string, indent int) bool {
	if text != "" {
		text, ok := strings.CutPrefix(text, " ")
		if !ok || text == "" {
			return false
		}
		switch text[0] {
		case '[', '{':
			return p.flow(v, text)
		}
		return setPlain(v, text)
	}
	if len(p.lines) == 0 {
		return false
	}
	below := p.lines[0].indent
	switch v.Kind() {
	case reflect.Struct:
		return below > indent && p.mapping(v, below)
	case reflect.Pointer:
		if v.Type().Elem().Kind() != reflect.Struct {
			return false
		}
		v.Set(reflect.New(v.Type().Elem()))
		return below > indent && p.mapping(v.Elem(), below)
	case reflect.Slice:
		return below >= indent && p.list(v, below)
	}
	return false
}

// list takes the entries at an indentation into a slice.
func (p *plainText) list(v reflect.Value, indent int) bool {
	for len(p.lines) > 0 && p.lines[0].indent == indent {
		text, ok := strings.CutPrefix(p.lines[0].text, "- ")
		if !ok {
			break // a key at the same indentation goes on with the mapping
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if e.Kind() == reflect.Struct {
			p.lines[0] = plainLine{indent + 2, text}
			ok = p.mapping(e, indent+2)
		} else {
			p.lines = p.lines[1:]
			ok = setPlain(e, text)
		}
		if !ok {
			return false
		}
		v.Set(reflect.Append(v, e))
	}
	return v.Len() > 0 && (len(p.lines) == 0 || p.lines[0].indent <= indent)
}

// flow takes a list or a mapping on one line, of scalars without quotes.
func (p *plainText) flow(v reflect.Value, text string) bool {
	list := text[0] == '['
	inner, ok := strings.CutSuffix(text[1:], string(text[0]+2))
	if !ok || strings.ContainsAny(inner, `"[]{}`) {
		return false
	}
	if list && v.Kind() == reflect.Slice && inner == "" {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return true
	}
	const indent = 1 << 30 // deeper than what follows
	var lines []plainLine
	for item := range strings.SplitSeq(inner, ", ") {
		if strings.Contains(item, ",") {
			return false
		}
		if list {
			item = "- " + item
		}
		lines = append(lines, plainLine{indent, item})
	}
	p.lines = append(lines, p.lines...)
	if list {
		return v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Struct && p.list(v, indent)
	}
	return v.Kind() == reflect.Struct && p.mapping(v, indent)
}

// fields are the fields of a struct by their keys.
func (p *plainText) fields(t reflect.Type) map[string]int {
	keys, ok := p.keys[t]
	if !ok {
		keys = make(map[string]int, t.NumField())
		for i := range t.NumField() {
			key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			keys[key] = i
		}
		p.keys[t] = keys
	}
	return keys
}

// setPlain sets v to a scalar, behind which there may be a comment.
func setPlain(v reflect.Value, text string) bool {
	if !strings.HasPrefix(text, `"`) {
		text, _, _ = strings.Cut(text, " #")
		text = strings.TrimRight(text, " ")
	}
	var err error
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return v.Elem().Kind() == reflect.Float64 && setPlain(v.Elem(), text)
	case reflect.String:
		s, ok := plainString(text)
		v.SetString(s)
		return ok
	case reflect.Bool:
		v.SetBool(text == "true")
		return text == "true" || text == "false"
	case reflect.Int, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
		return err == nil && decimal(text)
	case reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		v.SetFloat(f)
		return err == nil && decimal(text)
	}
	return false
}

// decimal reports whether text is a number that has no other meaning in any version
// of YAML: without signs in front, leading zeros, and anything but digits, one
// point and an exponent.
func decimal(text string) bool {
	mantissa, exponent, scientific := strings.Cut(text, "e")
	if scientific {
		if exponent = strings.TrimLeft(exponent[:min(1, len(exponent))], "+-") + exponent[min(1, len(exponent)):]; !digits(exponent) {
			return false
		}
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	return digits(whole) && (len(whole) == 1 || whole[0] != '0') && (!point || digits(fraction)) && len(text) <= 20
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// plainString is the text of a scalar, in double quotes or in none.
func plainString(text string) (string, bool) {
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		inner := text[1 : len(text)-1]
		return inner, !strings.ContainsAny(inner, `"\`)
	}
	ok := text != "" && (letter(text[0]) || notNumber(text)) && text[len(text)-1] != ':' && !strings.Contains(text, ": ")
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return "", false
	}
	return text, ok
}

// notNumber reports whether text that begins with a digit is a date or words.
func notNumber(text string) bool {
	day := strings.Trim(text, "0123456789-") == "" && strings.Contains(text, "-")
	return digits(text[:1]) && (day || strings.Contains(text, " "))
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

package extproc

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// kind is what an answer is to.
type kind uint8

// Kinds of answers; the numbers are those of the fields of ProcessingResponse.
const (
	toRequestHeaders   kind = 1
	toResponseHeaders  kind = 2
	toRequestBody      kind = 3
	toResponseBody     kind = 4
	toRequestTrailers  kind = 5
	toResponseTrailers kind = 6
	immediate          kind = 7
	streamedImmediate  kind = 11
)

// answer is a ProcessingResponse.
type answer struct {
	kind     kind
	mutation Mutation
	// replaces: the picker wants to see no more of this body (CONTINUE_AND_REPLACE).
	replaces bool
	body     bodyAnswer
	// status and text are of an immediate answer.
	status int
	text   []byte
	// endpoints is the list in the metadata envoy.lb.
	endpoints string
}

// bodyAnswer is what is to become of (a piece of) a body.
type bodyAnswer struct {
	change change
	data   []byte
	end    bool // of a streamed one: it is the last
}

type change uint8

const (
	unchanged change = iota
	replaced
	cleared
	streamed
)

// Mutation is how headers are to be changed.
type Mutation struct {
	set    []setting
	remove []string
}

// setting is a HeaderValueOption.
type setting struct {
	name, value string
	how         how
	keepEmpty   bool
}

// how a header is set; the numbers are those of HeaderAppendAction, whose zero means to
// overwrite here, because that is what it means where pickers leave it out.
type how uint8

const (
	overwrite    how = 0
	addIfAbsent  how = 1
	overwriteToo how = 2
	ifExists     how = 3
	appended     how = 4 // append: true
)

var errCut = errors.New("a message of the picker ends within a field")

// each calls f for each field of a message. v is that of a varint, b of what has a length.
func each(message []byte, f func(n protowire.Number, v uint64, b []byte) error) error {
	for len(message) > 0 {
		num, typ, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errCut
		}
		message = message[size:]
		var v uint64
		var b []byte
		switch typ {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(message)
		default:
			size = protowire.ConsumeFieldValue(num, typ, message)
		}
		if size < 0 {
			return errCut
		}
		message = message[size:]
		if err := f(num, v, b); err != nil {
			return err
		}
	}
	return nil
}

// parse reads a ProcessingResponse. One that has none of the kinds has kind 0.
func parse(message []byte) (*answer, error) {
	a := &answer{}
	err := each(message, func(n protowire.Number, _ uint64, b []byte) error {
		switch k := kind(n); {
		case n == 8:
			return a.dynamicMetadata(b)
		case n > 11:
			return nil
		case k == toRequestHeaders || k == toResponseHeaders || k == toRequestBody || k == toResponseBody:
			*a = answer{kind: k, endpoints: a.endpoints}
			return each(b, func(n protowire.Number, _ uint64, b []byte) error {
				if n != 1 {
					return nil
				}
				return a.common(b)
			})
		case k == immediate:
			*a = answer{kind: k, endpoints: a.endpoints}
			return a.immediate(b)
		case k == toRequestTrailers || k == toResponseTrailers || k == streamedImmediate:
			a.kind = k
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// common reads a CommonResponse.
func (a *answer) common(message []byte) error {
	return each(message, func(n protowire.Number, v uint64, b []byte) error {
		switch n {
		case 1:
			a.replaces = v == 1
		case 2:
			return a.mutation.parse(b)
		case 3:
			return a.body.parse(b)
		}
		return nil
	})
}

// immediate reads an ImmediateResponse.
func (a *answer) immediate(message []byte) error {
	err := each(message, func(n protowire.Number, _ uint64, b []byte) error {
		switch n {
		case 1:
			return each(b, func(n protowire.Number, v uint64, _ []byte) error {
				if n == 1 {
					a.status = int(min(v, 1000))
				}
				return nil
			})
		case 2:
			return a.mutation.parse(b)
		case 3:
			a.text = b
		}
		return nil
	})
	if err == nil && (a.status < 200 || a.status > 599) {
		return fmt.Errorf("the picker answers a request with status %d: need one of 200 to 599", a.status)
	}
	return err
}

// parse reads a HeaderMutation.
func (m *Mutation) parse(message []byte) error {
	return each(message, func(n protowire.Number, _ uint64, b []byte) error {
		switch n {
		case 1:
			s, err := parseSetting(b)
			m.set = append(m.set, s)
			return err
		case 2:
			m.remove = append(m.remove, string(b))
		}
		return nil
	})
}

func parseSetting(message []byte) (s setting, err error) {
	err = each(message, func(n protowire.Number, v uint64, b []byte) error {
		switch n {
		case 1:
			return each(b, func(n protowire.Number, _ uint64, b []byte) error {
				switch {
				case n == 1:
					s.name = string(b)
				case (n == 2 || n == 3) && len(b) > 0:
					s.value = string(b)
				}
				return nil
			})
		case 2: // a BoolValue
			return each(b, func(n protowire.Number, v uint64, _ []byte) error {
				if n == 1 && v != 0 {
					s.how = appended
				}
				return nil
			})
		case 3:
			if s.how = how(min(v, 4)); s.how == appended {
				return fmt.Errorf("the picker sets header %q in way %d, which there is not", s.name, v)
			}
		case 4:
			s.keepEmpty = v != 0
		}
		return nil
	})
	return s, err
}

// parse reads a BodyMutation.
func (a *bodyAnswer) parse(message []byte) error {
	return each(message, func(n protowire.Number, v uint64, b []byte) error {
		switch n {
		case 1:
			*a = bodyAnswer{change: replaced, data: b}
		case 2:
			if *a = (bodyAnswer{}); v != 0 {
				a.change = cleared
			}
		case 3:
			*a = bodyAnswer{change: streamed}
			return each(b, func(n protowire.Number, v uint64, b []byte) error {
				switch n {
				case 1:
					a.data = b
				case 2:
					a.end = v != 0
				}
				return nil
			})
		}
		return nil
	})
}

// dynamicMetadata finds the endpoints in a Struct.
func (a *answer) dynamicMetadata(message []byte) error {
	return entry(message, NamespaceDestination, func(value []byte) error {
		return each(value, func(n protowire.Number, _ uint64, b []byte) error {
			if n != valueStruct {
				return nil
			}
			return entry(b, HeaderDestination, func(value []byte) error {
				return each(value, func(n protowire.Number, _ uint64, b []byte) error {
					if n == valueString {
						a.endpoints = string(b)
					}
					return nil
				})
			})
		})
	})
}

// entry calls f with the Value of a key of a Struct.
func entry(message []byte, key string, f func(value []byte) error) error {
	return each(message, func(n protowire.Number, _ uint64, b []byte) error {
		if n != 1 {
			return nil
		}
		var name string
		var value []byte
		err := each(b, func(n protowire.Number, _ uint64, b []byte) error {
			switch n {
			case 1:
				name = string(b)
			case 2:
				value = b
			}
			return nil
		})
		if err != nil || name != key {
			return err
		}
		return f(value)
	})
}

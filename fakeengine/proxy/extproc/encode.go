package extproc

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields of ProcessingRequest.
const (
	fieldRequestHeaders  protowire.Number = 2
	fieldResponseHeaders protowire.Number = 3
	fieldRequestBody     protowire.Number = 4
	fieldResponseBody    protowire.Number = 5
	fieldMetadata        protowire.Number = 8
	fieldProtocolConfig  protowire.Number = 11
)

// Values of ProcessingMode.BodySendMode.
const (
	modeNone   = 0
	modeDuplex = 4
)

// sub appends a field that is a message.
func sub(b []byte, n protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), message)
}

func number(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func text(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

// field is a header as Envoy tells it, with a name in small letters.
type field struct{ name, value string }

// fields lists the headers in the order of their names, after those that stand for the
// first line.
func fields(first []field, h http.Header) []field {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	out := first
	for _, name := range names {
		for _, v := range h[name] {
			out = append(out, field{strings.ToLower(name), v})
		}
	}
	return out
}

// headers is HttpHeaders. Values are in raw_value, as Envoy has them.
func headers(all []field, end bool) []byte {
	var list []byte
	for _, f := range all {
		v := sub(text(nil, 1, f.name), 3, []byte(f.value))
		list = sub(list, 1, v)
	}
	out := sub(nil, 1, list)
	if end {
		out = number(out, 3, 1)
	}
	return out
}

// body is HttpBody.
func body(piece []byte, end bool) []byte {
	out := sub(make([]byte, 0, len(piece)+16), 1, piece)
	if end {
		out = number(out, 2, 1)
	}
	return out
}

// Kinds of google.protobuf.Value, by the numbers of their fields.
const (
	valueString protowire.Number = 3
	valueStruct protowire.Number = 5
	valueList   protowire.Number = 6
)

// metadata is Metadata with one value below a namespace.
func metadata(namespace, key string, value []byte) []byte {
	entry := sub(text(nil, 1, key), 2, value)
	fields := sub(nil, 1, entry)
	return sub(nil, 1, sub(text(nil, 1, namespace), 2, fields))
}

func stringValue(s string) []byte { return text(nil, valueString, s) }

func listValue(all []string) []byte {
	var list []byte
	for _, s := range all {
		list = sub(list, 1, stringValue(s))
	}
	return sub(nil, valueList, list)
}

// protocolConfig is ProtocolConfiguration.
func protocolConfig(response uint64) []byte {
	return number(number(number(nil, 1, modeDuplex), 2, response), 3, 1)
}

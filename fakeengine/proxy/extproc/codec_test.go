package extproc

import (
	"net/http"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func raw(k, v string) *corev3.HeaderValue {
	return &corev3.HeaderValue{Key: k, RawValue: []byte(v)}
}

// Envoy's own types read what is written here.
func TestRequestsAreEnvoys(t *testing.T) {
	list, err := structpb.NewStruct(map[string]any{keySubset: []any{"a:1", "b:2"}})
	if err != nil {
		t.Fatal(err)
	}
	served, err := structpb.NewStruct(map[string]any{headerServed: "a:1"})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"X-B": {"1", "2"}, "X-A": {"\xff"}}
	for name, c := range map[string]struct {
		got  []byte
		want *extprocv3.ProcessingRequest
	}{
		"request headers": {
			sub(sub(sub(nil, fieldRequestHeaders, headers(fields([]field{{":method", "GET"}}, h), true)), fieldProtocolConfig, protocolConfig(modeDuplex)),
				fieldMetadata, metadata(namespaceSubset, keySubset, listValue([]string{"a:1", "b:2"}))),
			&extprocv3.ProcessingRequest{
				Request: &extprocv3.ProcessingRequest_RequestHeaders{RequestHeaders: &extprocv3.HttpHeaders{
					EndOfStream: true, Headers: &corev3.HeaderMap{Headers: []*corev3.HeaderValue{raw(":method", "GET"), raw("x-a", "\xff"), raw("x-b", "1"), raw("x-b", "2")}},
				}},
				ProtocolConfig: &extprocv3.ProtocolConfiguration{
					RequestBodyMode: extprocfilterv3.ProcessingMode_FULL_DUPLEX_STREAMED, ResponseBodyMode: extprocfilterv3.ProcessingMode_FULL_DUPLEX_STREAMED,
					SendBodyWithoutWaitingForHeaderResponse: true,
				},
				MetadataContext: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{namespaceSubset: list}},
			},
		},
		"response headers": {
			sub(sub(nil, fieldResponseHeaders, headers([]field{{":status", "200"}}, false)), fieldMetadata, metadata(NamespaceDestination, headerServed, stringValue("a:1"))),
			&extprocv3.ProcessingRequest{
				Request:         &extprocv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: &extprocv3.HttpHeaders{Headers: &corev3.HeaderMap{Headers: []*corev3.HeaderValue{raw(":status", "200")}}}},
				MetadataContext: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{NamespaceDestination: served}},
			},
		},
		"request body": {
			sub(nil, fieldRequestBody, body([]byte("x"), true)),
			&extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: &extprocv3.HttpBody{Body: []byte("x"), EndOfStream: true}}},
		},
		"response body": {
			sub(nil, fieldResponseBody, body([]byte("x"), false)),
			&extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseBody{ResponseBody: &extprocv3.HttpBody{Body: []byte("x")}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got extprocv3.ProcessingRequest
			if err := proto.Unmarshal(c.got, &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, &got, protocmp.Transform()); d != "" {
				t.Error(d)
			}
		})
	}
}

// responses are messages of Envoy's types and what is read of them.
func responses() map[string]struct {
	message *extprocv3.ProcessingResponse
	want    answer
} {
	meta := &structpb.Struct{Fields: map[string]*structpb.Value{
		"other": structpb.NewNumberValue(1),
		NamespaceDestination: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"else": structpb.NewBoolValue(true), HeaderDestination: structpb.NewStringValue("a:1,b:2"),
		}}),
	}}
	set := func(o ...*corev3.HeaderValueOption) *extprocv3.HeaderMutation {
		return &extprocv3.HeaderMutation{SetHeaders: o, RemoveHeaders: []string{"gone"}}
	}
	return map[string]struct {
		message *extprocv3.ProcessingResponse
		want    answer
	}{
		"decision": {
			&extprocv3.ProcessingResponse{
				Response: &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: &extprocv3.HeadersResponse{Response: &extprocv3.CommonResponse{
					ClearRouteCache: true,
					HeaderMutation: set(&corev3.HeaderValueOption{Header: raw("a", "raw")},
						//lint:ignore SA1019 it is what older pickers send
						&corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: "b", Value: "text"}, Append: wrapperspb.Bool(true)},
						&corev3.HeaderValueOption{Header: raw("c", ""), AppendAction: corev3.HeaderValueOption_ADD_IF_ABSENT, KeepEmptyValue: true}),
				}}},
				DynamicMetadata: meta,
			},
			answer{kind: toRequestHeaders, endpoints: "a:1,b:2", mutation: Mutation{
				set: []setting{{name: "a", value: "raw"}, {name: "b", value: "text", how: appended}, {name: "c", how: addIfAbsent, keepEmpty: true}}, remove: []string{"gone"},
			}},
		},
		"replace": {
			&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extprocv3.HeadersResponse{Response: &extprocv3.CommonResponse{
				Status:       extprocv3.CommonResponse_CONTINUE_AND_REPLACE,
				BodyMutation: &extprocv3.BodyMutation{Mutation: &extprocv3.BodyMutation_Body{Body: []byte("x")}},
			}}}},
			answer{kind: toResponseHeaders, replaces: true, body: bodyAnswer{change: replaced, data: []byte("x")}},
		},
		"streamed": {
			&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{
				BodyMutation: &extprocv3.BodyMutation{Mutation: &extprocv3.BodyMutation_StreamedResponse{StreamedResponse: &extprocv3.StreamedBodyResponse{Body: []byte("x"), EndOfStream: true}}},
			}}}},
			answer{kind: toResponseBody, body: bodyAnswer{change: streamed, data: []byte("x"), end: true}},
		},
		"cleared": {
			&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{
				BodyMutation: &extprocv3.BodyMutation{Mutation: &extprocv3.BodyMutation_ClearBody{ClearBody: true}},
			}}}},
			answer{kind: toRequestBody, body: bodyAnswer{change: cleared}},
		},
		"immediate": {
			&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
				Status: &typev3.HttpStatus{Code: 429}, Headers: set(), Body: []byte("no"), Details: "d",
			}}},
			answer{kind: immediate, status: 429, text: []byte("no"), mutation: Mutation{remove: []string{"gone"}}},
		},
	}
}

// What Envoy's own types write is read here.
func TestAnswersAreEnvoys(t *testing.T) {
	for name, c := range responses() {
		t.Run(name, func(t *testing.T) {
			b, err := proto.Marshal(c.message)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&c.want, got, cmp.AllowUnexported(answer{}, Mutation{}, setting{}, bodyAnswer{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// Whatever Envoy's types can read of a message is read alike here; nothing makes it fail
// otherwise.
func FuzzParse(f *testing.F) {
	for _, c := range responses() {
		b, err := proto.Marshal(c.message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := parse(message)
		var want extprocv3.ProcessingResponse
		if werr := proto.Unmarshal(message, &want); werr != nil || err != nil {
			return
		}
		if i := want.GetImmediateResponse(); i != nil && got.kind == immediate && (got.status != int(i.GetStatus().GetCode()) || len(got.text) != len(i.Body)) {
			t.Errorf("read %d and %q; Envoy's types read %v", got.status, got.text, i)
		}
		h := http.Header{}
		got.mutation.Apply(h)
		for name := range h {
			if name == "" {
				t.Errorf("a header without a name: %v", h)
			}
		}
	})
}

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		m       Mutation
		want    http.Header
		dropped int
	}{
		"overwrites":        {Mutation{set: []setting{{name: "x-a", value: "2"}}}, http.Header{"X-A": {"2"}}, 0},
		"appends":           {Mutation{set: []setting{{name: "x-a", value: "2", how: appended}}}, http.Header{"X-A": {"1", "2"}}, 0},
		"if absent":         {Mutation{set: []setting{{name: "x-a", value: "2", how: addIfAbsent}, {name: "x-b", value: "3", how: addIfAbsent}}}, http.Header{"X-A": {"1"}, "X-B": {"3"}}, 0},
		"if there":          {Mutation{set: []setting{{name: "x-a", value: "2", how: ifExists}, {name: "x-b", value: "3", how: ifExists}}}, http.Header{"X-A": {"2"}}, 0},
		"empty":             {Mutation{set: []setting{{name: "x-a"}, {name: "x-b", keepEmpty: true}}}, http.Header{"X-B": {""}}, 0},
		"removes, then set": {Mutation{remove: []string{"x-a"}, set: []setting{{name: "x-a", value: "2", how: appended}}}, http.Header{"X-A": {"2"}}, 0},
		"can't be": {
			Mutation{set: []setting{{name: ":path", value: "/"}, {name: "Host", value: "x"}, {name: "x b", value: "1"}, {name: "x-b", value: "1\r\nx-c: 2"}, {value: "1"}}},
			http.Header{"X-A": {"1"}},
			5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{"X-A": {"1"}}
			if n := c.m.Apply(h); n != c.dropped {
				t.Errorf("%d dropped", n)
			}
			if d := cmp.Diff(c.want, h); d != "" {
				t.Error(d)
			}
		})
	}
}

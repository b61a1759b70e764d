package genai

import "fmt"

// Conventions are a set of names.
type Conventions struct {
	// Name is the value of --semconv; Schema is the URL that tells readers which names
	// are meant.
	Name, Schema string
	// latest: the names that are being worked on.
	latest bool
}

// String implements fmt.Stringer.
func (c Conventions) String() string { return c.Name }

// The sets. Released is the last one that a release of OpenTelemetry's semantic
// conventions has for generative AI; Development is that of the repository where they
// live since, and may change.
var (
	Released    = Conventions{Name: "1.41", Schema: "https://opentelemetry.io/schemas/1.41.0"}
	Development = Conventions{Name: "genai-dev", Schema: "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev", latest: true}
)

// Parse finds a set by its name; "" is Released.
func Parse(name string) (Conventions, error) {
	switch name {
	case "", Released.Name:
		return Released, nil
	case Development.Name:
		return Development, nil
	}
	return Conventions{}, fmt.Errorf("%q is no set of names: choose %s or %s", name, Released.Name, Development.Name)
}

// cacheWrite is not among these names: no server of the chat API tells what it wrote.
const (
	opName        = "gen_ai.operation.name"
	provider      = "gen_ai.provider.name"
	requestModel  = "gen_ai.request.model"
	responseModel = "gen_ai.response.model"
	conversation  = "gen_ai.conversation.id"
	agentName     = "gen_ai.agent.name"
	toolName      = "gen_ai.tool.name"
	toolType      = "gen_ai.tool.type"
	streamed      = "gen_ai.request.stream"
	maxTokens     = "gen_ai.request.max_tokens"
	finishReasons = "gen_ai.response.finish_reasons"
	firstChunk    = "gen_ai.response.time_to_first_chunk"
	inputTokens   = "gen_ai.usage.input_tokens"
	outputTokens  = "gen_ai.usage.output_tokens"
	cacheRead     = "gen_ai.usage.cache_read.input_tokens"
	reasoning     = "gen_ai.usage.reasoning.output_tokens"
	errorType     = "error.type"
	httpStatus    = "http.response.status_code"
	resendCount   = "http.request.resend_count"
	serverAddress = "server.address"
	serverPort    = "server.port"

	// openAI is the flavour of the API that is spoken, whoever serves it.
	openAI = "openai"
)

package datasets

// Role says who speaks in a Span, for targets that are asked by messages. Elsewhere, and
// to caches, a prompt is the same whoever speaks in it.
type Role uint8

// The roles. The zero value is that of a prompt that is one text.
const (
	User Role = iota
	System
	Assistant // an answer that is quoted
	Tool      // what tools have returned to the answer before it
)

var roles = [...]string{"user", "system", "assistant", "tool"}

// String is the role's name in a message.
func (r Role) String() string {
	if int(r) < len(roles) {
		return roles[r]
	}
	return "unknown"
}

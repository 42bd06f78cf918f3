package agent

// check_operation is the one tool of ours that the model sees: it looks, and changes nothing.
const (
	checkName        = "check_operation"
	checkDescription = "Look at an operation that was not confirmed, by the number that its answer gave. It sends nothing and changes nothing."
)

var checkSchema = map[string]any{"type": "object", "additionalProperties": false, "required": []string{"number"},
	"properties": map[string]any{"number": map[string]any{"type": "string", "description": "Operation number, such as 20260302-ABCDEFGHIJ"}}}

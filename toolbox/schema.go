package toolbox

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	reflector "github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"notwice/canonical"
)

// ShapeOf reads the declaration of a tool's arguments from a struct: json and jsonschema tags say what a value may be, the
// tag notwice says what a field means (FORMATS §3). It returns the shape and the JSON Schema of what a caller may give.
func ShapeOf(args any) (canonical.Shape, map[string]any, error) {
	t := reflect.TypeOf(args)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return canonical.Shape{}, nil, fmt.Errorf("the arguments of a tool are a struct, not %v", t)
	}
	schema, err := reflectSchema(t)
	if err != nil {
		return canonical.Shape{}, nil, err
	}
	properties, _ := schema["properties"].(map[string]any)
	shape := canonical.Shape{}
	var hidden []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" || f.Anonymous {
			return shape, nil, fmt.Errorf("field %s needs a json name", f.Name)
		}
		property, _ := properties[name].(map[string]any)
		field, err := fieldOf(name, f, property)
		if err != nil {
			return shape, nil, err
		}
		field.Optional = field.Optional || strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if field.Role == canonical.Secret {
			hidden = append(hidden, name)
		}
		shape.Fields = append(shape.Fields, field)
	}
	hide(schema, hidden)
	return shape, schema, checkShape(shape)
}

func reflectSchema(t reflect.Type) (map[string]any, error) {
	r := reflector.Reflector{DoNotReference: true, Anonymous: true, ExpandedStruct: true}
	text, err := r.ReflectFromType(t).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	schema, err := canonical.ParseObject(text)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	delete(schema, "$schema")
	return schema, nil
}

func fieldOf(name string, f reflect.StructField, property map[string]any) (canonical.Field, error) {
	field := canonical.Field{Name: name, Default: property["default"]}
	field.Type, _ = property["type"].(string)
	field.Format, _ = property["format"].(string)
	for word := range strings.SplitSeq(f.Tag.Get("notwice"), ",") {
		key, value, _ := strings.Cut(word, "=")
		role := canonical.Role(word)
		switch {
		case word == "":
		case role == canonical.Identity || role == canonical.Prose || role == canonical.Volatile || role == canonical.Secret:
			if field.Role != "" {
				return field, fmt.Errorf("field %s: the roles %s and %s exclude each other", name, field.Role, role)
			}
			field.Role = role
		case key == "money" && value != "":
			field.Money = value
		case word == "set":
			field.Set = true
		default:
			return field, fmt.Errorf("field %s: the tag notwice has no word %q", name, word)
		}
	}
	return field, nestedTags(name, f.Type)
}

// nestedTags refuses roles below the top level, where they would mean nothing.
func nestedTags(name string, t reflect.Type) error {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("notwice") != "" {
			return fmt.Errorf("field %s.%s: a role stands on a top-level field only", name, f.Name)
		}
		if f.Type != t {
			if err := nestedTags(name+"."+f.Name, f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// hide takes fields out of a schema that a caller or the model sees.
func hide(schema map[string]any, names []string) {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range names {
		delete(properties, name)
		required = slices.DeleteFunc(required, func(r any) bool { return r == name })
	}
	if len(required) == 0 {
		delete(schema, "required")
	} else {
		schema["required"] = required
	}
}

// checkShape refuses declarations that contradict themselves.
func checkShape(s canonical.Shape) error {
	for _, f := range s.Fields {
		if f.Money != "" {
			if err := checkMoney(s, f); err != nil {
				return err
			}
		}
		if f.Role == canonical.Identity && f.Type == "boolean" {
			return fmt.Errorf("field %s: a boolean cannot name a business thing", f.Name)
		}
		if f.Set && f.Type != "array" {
			return fmt.Errorf("field %s: only an array can be a set", f.Name)
		}
	}
	return nil
}

func checkMoney(s canonical.Shape, f canonical.Field) error {
	if f.Type != "integer" && f.Type != "string" {
		return fmt.Errorf("field %s: money is an integer of minor units or exact text, not a %s", f.Name, f.Type)
	}
	if f.Role == canonical.Volatile || f.Role == canonical.Secret || f.Role == canonical.Prose {
		return fmt.Errorf("field %s: money cannot be %s", f.Name, f.Role)
	}
	if holder := s.Field(f.Money); holder != nil {
		if holder.Type != "string" || holder.Role == canonical.Volatile || holder.Role == canonical.Secret {
			return fmt.Errorf("field %s: %s cannot hold its currency", f.Name, f.Money)
		}
		return nil
	}
	if _, err := canonical.Exponent(f.Money); err != nil {
		return fmt.Errorf("field %s: money=%s names neither a field nor a currency of ISO 4217", f.Name, f.Money)
	}
	return nil
}

// ModelSchema is what the model sees: the schema without volatile fields, tags and x- words.
func (d Declaration) ModelSchema() map[string]any {
	schema := strip(d.Schema).(map[string]any)
	var hidden []string
	for _, f := range d.Shape.Fields {
		if f.Role == canonical.Volatile {
			hidden = append(hidden, f.Name)
		}
	}
	hide(schema, hidden)
	return schema
}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			if !strings.HasPrefix(name, "x-") && !strings.HasPrefix(name, "$") {
				out[name] = strip(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = strip(v[i])
		}
		return out
	}
	return v
}

// compile prepares the schema for validation.
func compile(name string, schema map[string]any) (*validator.Schema, error) {
	text, err := canonical.Plain(schema)
	if err != nil {
		return nil, err
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := validator.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name+".json", doc); err != nil {
		return nil, err
	}
	return c.Compile(name + ".json")
}

// validate judges normalised arguments by the schema. Error: canonical.Problems, each naming its field.
func validate(schema *validator.Schema, args map[string]any) error {
	text, err := canonical.Plain(args)
	if err != nil {
		return err
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	err = schema.Validate(doc)
	var invalid *validator.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var problems canonical.Problems
	collect(invalid, &problems)
	return problems
}

func collect(e *validator.ValidationError, into *canonical.Problems) {
	if len(e.Causes) == 0 {
		*into = append(*into, &canonical.Problem{Field: strings.Join(e.InstanceLocation, "."), What: e.DetailedOutput().Error.String()})
		return
	}
	for _, cause := range e.Causes {
		collect(cause, into)
	}
}

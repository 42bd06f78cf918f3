package scenarios

import (
	"regexp"
	"strconv"

	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
)

// ModelFacts is what a person says and the scripted model answers.
type ModelFacts struct {
	User   string
	Script *fakeprovider.Script // nil: the script that is playing goes on

	file *strictyaml.Node // names the file that says it; nil: the story says it itself
}

// UnmarshalNode reads {user: TEXT, answers: […], order: asked}, or the name of a file with these keys, which is read once the
// folder of the story is known.
func (m *ModelFacts) UnmarshalNode(n *strictyaml.Node) error {
	if text, ok := n.Value.(string); ok && text != "" {
		m.file = n
		return nil
	}
	if n.Kind != strictyaml.Map {
		return n.Errorf("model is a map with user and answers, or the name of a file that holds one")
	}
	return m.read(n)
}

func (m *ModelFacts) read(n *strictyaml.Node) error {
	var p struct {
		User    string           `yaml:"user"`
		Answers *strictyaml.Node `yaml:"answers"`
		Order   *strictyaml.Node `yaml:"order"`
	}
	err := strictyaml.Decode(n, &p)
	if err != nil {
		return err
	}
	m.User = p.User
	switch {
	case p.Answers != nil:
		m.Script, err = readScript(p.Answers, p.Order)
	case p.Order != nil:
		err = p.Order.Errorf("order belongs to answers, and there are none")
	}
	return err
}

// load reads the file that a step names.
func (m *ModelFacts) load(read func(name string) (file string, data []byte, err error)) error {
	if m.file == nil {
		return nil
	}
	file, data, err := read(m.file.Value.(string))
	if err != nil {
		return m.file.Errorf("the model's file cannot be read: %v", err)
	}
	n, err := strictyaml.Parse(file, data)
	if err != nil {
		return err
	}
	return m.read(n)
}

// ParseScript reads a file with a model script (FORMATS §6). Errors name file, line and column of the answer or key that is
// wrong.
func ParseScript(file string, data []byte) (*fakeprovider.Script, error) {
	n, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var p struct {
		Answers *strictyaml.Node `yaml:"answers"`
		Order   *strictyaml.Node `yaml:"order"`
	}
	if err := strictyaml.Decode(n, &p); err != nil {
		return nil, err
	}
	if p.Answers == nil {
		return nil, n.Errorf("answers is missing: what the model says")
	}
	return readScript(p.Answers, p.Order)
}

// readScript reads answers one by one, so that an error stands at its answer.
func readScript(answers, order *strictyaml.Node) (*fakeprovider.Script, error) {
	s := &fakeprovider.Script{}
	if order != nil {
		if order.Value != "asked" {
			return nil, order.Errorf("order is asked, or absent")
		}
		s.Order = "asked"
	}
	if answers.Kind != strictyaml.List || len(answers.Items) == 0 {
		return nil, answers.Errorf("answers is a list of one answer or more")
	}
	for i, item := range answers.Items {
		if item.Kind != strictyaml.Map {
			return nil, item.Errorf("answer %d is a map with call, calls, say or break", i+1)
		}
		a, err := fakeprovider.ParseScriptAnswer(item.JSON())
		if err != nil {
			return nil, placed(callNamed(item, err), err)
		}
		s.Answers = append(s.Answers, a)
	}
	return s, nil
}

var callNumber = regexp.MustCompile(`^call ([0-9]+):`)

// callNamed is the call of an answer that a message numbers, else the answer.
func callNamed(answer *strictyaml.Node, err error) *strictyaml.Node {
	m := callNumber.FindStringSubmatch(err.Error())
	if m == nil {
		return answer
	}
	if one := answer.Get("call"); one != nil {
		return one
	}
	calls := answer.Get("calls")
	if i, _ := strconv.Atoi(m[1]); calls != nil && i >= 1 && i <= len(calls.Items) {
		return calls.Items[i-1]
	}
	return answer
}

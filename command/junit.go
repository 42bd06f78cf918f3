package command

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"notwice/scenarios"
)

// junitSuite is a report as CI servers read it: one case for each story or simulation.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class    string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	Failures []junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junitFlag() cli.Flag {
	return &cli.StringFlag{Name: "junit", Usage: "write the report to `FILE` too, as XML for a CI server"}
}

// add takes up a case; message is what went wrong first.
func (s *junitSuite) add(name string, failures ...junitFailure) {
	s.Cases = append(s.Cases, junitCase{Class: s.Name, Name: name, Failures: failures})
	if s.Tests++; len(failures) > 0 {
		s.Failures++
	}
}

// write writes the file that was asked for, if one was.
func (s *junitSuite) write(c *cli.Context) error {
	name := c.String("junit")
	if name == "" {
		return nil
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.WriteFile(name, append([]byte(xml.Header), append(text, '\n')...), 0o666)
	}
	if err != nil {
		return usagef("--junit: %v", err)
	}
	return nil
}

func junitOfStories(reports []scenarios.Report) *junitSuite {
	s := &junitSuite{Name: "notwice test"}
	for _, r := range reports {
		var failures []junitFailure
		for _, f := range r.Failures {
			failures = append(failures, junitFailure{fmt.Sprintf("step %d, %s", f.Step, f.Title), f.What})
		}
		s.add(r.File, failures...)
	}
	return s
}

func junitOfExplorations(all []scenarios.Exploration) *junitSuite {
	s := &junitSuite{Name: "notwice test --explore"}
	for _, x := range all {
		var failures []junitFailure
		for _, v := range x.Violations {
			failures = append(failures, junitFailure{v.Name, strings.Join(v.Broken, "\n") + "\nreplay: " + replayOf(x, v.At)})
		}
		s.add(x.File, failures...)
	}
	return s
}

func junitOfSimulation(r scenarios.SimReport) *junitSuite {
	s := &junitSuite{Name: "notwice sim"}
	var failures []junitFailure
	for _, v := range r.Violations {
		failures = append(failures, junitFailure{fmt.Sprintf("history %d", v.History),
			fmt.Sprintf("%s\nreplay: %s\n%s", strings.Join(v.Broken, "\n"), replayHistory(r.Seed, v.History), v.Shrunk)})
	}
	if len(r.Never) > 0 {
		failures = append(failures, junitFailure{"never happened", strings.Join(r.Never, ", ")})
	}
	s.add(fmt.Sprintf("seed %d", r.Seed), failures...)
	return s
}

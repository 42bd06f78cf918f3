package command

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
)

func fakeCommand() *cli.Command {
	return &cli.Command{
		Name:  "fake",
		Usage: "run the fake provider: payments, e-mails, applications and tickets, with faults",
		Description: "  notwice fake --listen 127.0.0.1:18080 --store ledger\n" +
			"  curl -d '{\"on\":\"payments.create\",\"do\":\"commit_then_timeout\"}' 127.0.0.1:18080/_control/faults\n" +
			"  notwice call create_payment order_id=817 amount_minor=490000 currency=RUB --provider http://127.0.0.1:18080\n" +
			"  curl 127.0.0.1:18080/_control/effects",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:18080", Usage: "loopback `ADDRESS`; port 0 takes a free one"},
			&cli.StringFlag{Name: "store", Usage: "`FOLDER` of the ledger (default: in memory)"},
			&cli.StringFlag{Name: "faults", Usage: "YAML `FILE` with faults: […]"},
			&cli.StringFlag{Name: "key", Value: "honoured", Usage: "honoured, ignored or none: what becomes of keys"},
			&cli.DurationFlag{Name: "forget-after", Usage: "how long a key is remembered (default: for ever)"},
			&cli.DurationFlag{Name: "search-lag", Usage: "how long new objects stay invisible to searches"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("fake takes no arguments")
			}
			server, err := startFake(c)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				printJSON(c.App.Writer, map[string]any{"v": 1, "url": server.URL()})
			} else {
				fmt.Fprintln(c.App.Writer, server.URL())
			}
			fmt.Fprintf(os.Stderr, "notwice: the fake provider listens; end it with Ctrl-C\n")
			<-c.Context.Done()
			return server.Close()
		},
	}
}

func startFake(c *cli.Context) (*fakeprovider.Server, error) {
	if err := notNegative(c, "forget-after", "search-lag"); err != nil {
		return nil, err
	}
	faults, err := readFaults(c.String("faults"))
	if err != nil {
		return nil, err
	}
	server, err := fakeprovider.Start(fakeprovider.Options{
		Addr: c.String("listen"), Dir: c.String("store"), Key: c.String("key"),
		ForgetAfter: c.Duration("forget-after"), SearchLag: c.Duration("search-lag"),
	})
	if err != nil {
		return nil, usagef("%v", err)
	}
	if err := server.Arm(faults...); err != nil {
		server.Close()
		return nil, usagef("%v", err)
	}
	return server, nil
}

// readFaults reads a file that holds faults: […].
func readFaults(name string) ([]fakeprovider.Fault, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("%v", err)
	}
	n, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	var file struct {
		Faults *strictyaml.Node `yaml:"faults"`
	}
	if err := strictyaml.Decode(n, &file); err != nil {
		return nil, err
	}
	if file.Faults == nil {
		return nil, n.Errorf("the file has no faults")
	}
	faults, err := fakeprovider.ParseFaults(file.Faults.JSON())
	if err != nil {
		return nil, file.Faults.Errorf("%v", err)
	}
	return faults, nil
}

// Command notwice runs tools for language models so that nothing takes effect twice.
package main

import (
	"os"

	"notwice/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }

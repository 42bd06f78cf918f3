package toolbox

import (
	"slices"
	"strings"
	"unicode"

	"notwice/policy"
)

// risky are the beginnings of words by which a tool without declared identity is taken to do something that must not happen
// twice: paying, sending, posting, ordering, booking, creating, or taking a key (DESIGN §3). English and Russian.
var risky = []string{
	"pay", "paid", "charg", "refund", "transfer", "withdraw", "deposit", "purchas", "buy", "invoice", "donat",
	"send", "sent", "mail", "email", "sms", "notif", "messag", "reply", "replies", "post", "publish", "tweet", "comment",
	"order", "book", "reserv", "subscrib", "schedul", "creat", "add", "insert", "regist", "submit", "issue", "ticket", "upload", "append",
	"remit", "wire", "dispatch", "forward", "checkout", "settle", "debit", "credit", "idempoten", "dedup",
	"плат", "оплат", "опла", "перевод", "перевед", "списа", "возврат", "покуп", "купи", "отправ", "послать", "посыл", "письм", "сообщ", "публик",
	"заказ", "брон", "созда", "добав", "запис", "регистр", "заяв",
}

// riskyWords are risky as whole words only: as beginnings they would be too many others.
var riskyWords = []string{"key", "order", "ключ"}

// guardOf is the guard of a tool without declared identity: full where its name, description or fields speak of what must not
// happen twice, else lost.
func guardOf(d Declaration) policy.Guard {
	if d.Facts.Guard != "" {
		return policy.Guard(d.Facts.Guard)
	}
	texts := []string{d.Name, d.Description}
	for _, f := range d.Shape.Fields {
		texts = append(texts, f.Name)
	}
	for _, text := range texts {
		for _, word := range words(text) {
			if isRisky(word) {
				return policy.GuardFull
			}
		}
	}
	return policy.GuardLost
}

// inside are risky also in the middle of a word: repay, autopay, resend, reorder. A word too many costs a repeat that is told; a
// word too few, a second effect.
var inside = []string{"pay", "send", "mail", "post", "order", "charge", "refund", "transfer", "purchase", "book", "ticket", "invoice", "плат", "отправ", "заказ"}

func isRisky(word string) bool {
	starts := func(s string) bool { return strings.HasPrefix(word, s) }
	holds := func(s string) bool { return strings.Contains(word, s) }
	return slices.Contains(riskyWords, word) || slices.ContainsFunc(risky, starts) || slices.ContainsFunc(inside, holds)
}

// words splits names such as createPayment or create_payment and sentences into words in lower case.
func words(text string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		humps := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) // createPayment, HTTPSend
		if humps {
			end()
		}
		word.WriteRune(unicode.ToLower(r))
	}
	end()
	return out
}

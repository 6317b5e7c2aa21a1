// A first look at the API with nothing but the standard library. Start `make run`, then in another terminal:
//
//	SERVICE=... go run examples/tour.go        # the token that `make run` printed
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

const reader, author = 101, 102 // any numbers will do: nobody has to sign up

// Problem is what an error looks like, as RFC 9457 has it.
type Problem struct {
	Status       int
	Code, Detail string
}

func (p Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail) }

// call is a backend's call for one of its users; the answer goes into out.
func call(user int, method, path string, body, out any) error {
	api := os.Getenv("API")
	if api == "" {
		api = "http://127.0.0.1:8080"
	}
	data := []byte{}
	if body != nil {
		data, _ = json.Marshal(body)
	}
	request, err := http.NewRequest(method, api+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("SERVICE"))
	request.Header.Set("X-User-Id", fmt.Sprint(user))
	if method == "POST" { // send it again with the same key, and nothing happens twice
		key := make([]byte, 16)
		rand.Read(key)
		request.Header.Set("Idempotency-Key", fmt.Sprintf("%x", key))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		var problem Problem
		if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
			return err
		}
		return problem
	}
	return json.NewDecoder(response.Body).Decode(out)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type object = map[string]any

func main() {
	var follow struct{ Following bool }
	must(call(reader, "POST", "/v1/relation/follow", object{"user_id": author}, &follow))
	fmt.Println("following:", follow.Following)
	for i := 1; i <= 3; i++ {
		note := object{"kind": "note", "title": fmt.Sprint("Note ", i), "body": "From the tour."}
		must(call(author, "POST", "/v1/posts", note, &object{}))
	}
	var badge struct{ Total int64 }
	must(call(reader, "GET", "/v1/inbox/badge", nil, &badge))
	fmt.Println("unread:", badge.Total)

	var page struct {
		Items []struct {
			PostID int64 `json:"post_id"` // ids are up to 2^53: say int64
			Title  string
		}
		NextCursor *string `json:"next_cursor"`
		AsOf       string  `json:"as_of"`
	}
	var titles []string
	var ids []int64
	for path := "/v1/inbox?filter=unread&limit=2"; ; { // two at a time, to the end
		must(call(reader, "GET", path, nil, &page))
		for _, item := range page.Items {
			titles = append(titles, item.Title)
			ids = append(ids, item.PostID)
		}
		if page.NextCursor == nil {
			break
		}
		path = "/v1/inbox?filter=unread&limit=2&cursor=" + *page.NextCursor
	}
	fmt.Println("list:", strings.Join(titles, ", "))

	var opened struct {
		Post   struct{ Title string }
		Unread struct{ Total int64 }
	}
	must(call(reader, "POST", fmt.Sprintf("/v1/posts/%d/open", ids[0]), nil, &opened))
	fmt.Printf("opened %s: %d left\n", opened.Post.Title, opened.Unread.Total)
	var marked struct{ Marked, Total int64 }
	must(call(reader, "POST", "/v1/inbox/mark-read", object{"up_to": page.AsOf}, &marked)) // what came after it stays unread
	fmt.Printf("marked %d: %d left\n", marked.Marked, marked.Total)

	fmt.Println(call(reader, "GET", "/v1/posts/1", nil, &object{}))
}

// What an integrator does first, with the client generated for Go. The four programs here print the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	tidings "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must[T any](value T, response any, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func as(token string) context.Context {
	return context.WithValue(context.Background(), tidings.ContextAccessToken, os.Getenv(token))
}

func problem(err error) tidings.Problem {
	var failed *tidings.GenericOpenAPIError
	if !errors.As(err, &failed) {
		panic(err)
	}
	found := failed.Model().(tidings.Problem)
	fmt.Printf("get: %d %s\n", found.Status, found.Code)
	return found
}

func main() {
	configuration := tidings.NewConfiguration()
	configuration.Servers = tidings.ServerConfigurations{{URL: os.Getenv("API")}}
	api := tidings.NewAPIClient(configuration)
	author, fan := as("AUTHOR"), as("FAN")
	authorId, _ := strconv.ParseInt(os.Getenv("AUTHOR_ID"), 10, 64)

	follow := must(api.RelationsAPI.Follow(fan).FollowRequest(*tidings.NewFollowRequest(authorId)).Execute())
	fmt.Printf("follow: %t %t\n", follow.Changed, follow.Following)
	name := tidings.NewProfileRequest()
	name.SetName("Ann")
	profile := must(api.UsersAPI.SetProfile(author).ProfileRequest(*name).Execute())
	fmt.Printf("profile: %s\n", profile.Name)

	var posts []*tidings.Post
	for i := 1; i <= 5; i++ {
		note := tidings.NewPublishRequest(tidings.NOTE, fmt.Sprintf("Post %d", i))
		note.SetBody(fmt.Sprintf("%d [img]https://example.org/%d.png[/img]", i, i))
		key := fmt.Sprintf("%d-%d", time.Now().UnixNano(), i)
		posts = append(posts, must(api.PostsAPI.Publish(author).PublishRequest(*note).IdempotencyKey(key).Execute()))
	}
	parts := posts[4].Parts
	fmt.Printf("published: %d, the last with %sand %s\n", len(posts), parts[0].GetText(), parts[1].GetImg())
	fmt.Printf("badge: %d\n", must(api.InboxAPI.GetBadge(fan).Execute()).Total)

	opened := must(api.PostsAPI.OpenPost(fan, posts[0].Id).Execute())
	fmt.Printf("open: %s, %d left\n", opened.Post.Title, opened.Unread.Total)
	one := tidings.NewMarkReadRequest()
	one.SetPostIds([]int64{posts[1].Id})
	marked := must(api.InboxAPI.MarkRead(fan).MarkReadRequest(*one).Execute())
	fmt.Printf("mark: %d, %d left\n", marked.Marked, marked.Total)

	page := must(api.InboxAPI.ListInbox(fan).Limit(2).Execute())
	seen, pages := page.Items, 1
	for page.NextCursor.Get() != nil {
		page = must(api.InboxAPI.ListInbox(fan).Limit(2).Cursor(*page.NextCursor.Get()).Execute())
		seen = append(seen, page.Items...)
		pages++
	}
	unread := 0
	for _, item := range seen {
		if !item.IsRead {
			unread++
		}
	}
	fmt.Printf("pages: %d with %d items, %d unread\n", pages, len(seen), unread)
	all := tidings.NewMarkReadRequest()
	all.SetUpTo(page.AsOf)
	marked = must(api.InboxAPI.MarkRead(fan).MarkReadRequest(*all).Execute())
	fmt.Printf("mark all: %d, %d left\n", marked.Marked, marked.Total)

	edit := tidings.NewEditRequest()
	edit.SetTitle("Edited")
	fmt.Printf("edit: %s\n", must(api.PostsAPI.EditPost(author, posts[0].Id).EditRequest(*edit).Execute()).Title)
	story := must(api.PostsAPI.Publish(author).PublishRequest(*tidings.NewPublishRequest(tidings.STORY, "A story")).Execute())
	scene := must(api.StoriesAPI.PublishScene(author, story.Id).
		SceneRequest(*tidings.NewSceneRequest("One", []string{"old", "gone"})).Execute())
	kept := tidings.KeptMessageAsSceneEditMessage(tidings.NewKeptMessage(scene.Messages[0].Id, "kept"))
	text := "new"
	change := tidings.NewSceneEditRequest()
	change.SetMessages([]tidings.SceneEditMessage{kept, tidings.StringAsSceneEditMessage(&text)})
	scene = must(api.StoriesAPI.EditScene(author, scene.Id).SceneEditRequest(*change).Execute())
	var texts []string
	for _, message := range scene.Messages {
		texts = append(texts, message.Text)
	}
	fmt.Printf("scene: %s\n", strings.Join(texts, ", "))

	where := tidings.NewReadingRequest()
	where.SetSceneId(scene.Id)
	must(api.ReadingAPI.SetReading(fan, story.Id).ReadingRequest(*where).Execute())
	reading := must(api.ReadingAPI.ListReading(fan).Since(0).Execute())
	fmt.Printf("reading: %d, more %t\n", len(reading.Items), reading.GetMore())
	must(api.ReactionsAPI.LikePost(fan, posts[2].Id).Execute())
	liked := must(api.ReactionsAPI.ListMyLikes(fan).Execute()).Items[0].LikedPost
	fmt.Printf("liked: %s\n", liked.Title)

	_, _, err := api.PostsAPI.GetPost(fan, 1).Execute()
	problem(err)
	if _, err = api.PostsAPI.DeletePost(author, posts[4].Id).Execute(); err != nil {
		panic(err)
	}
	_, _, err = api.PostsAPI.GetPost(fan, posts[4].Id).AcceptLanguage("en").Execute()
	gone := problem(err)
	fmt.Printf("notice: %s\n", gone.GetNotice())
}

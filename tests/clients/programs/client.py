"""What an integrator does first, with the client generated for Python. The four programs here print the same."""
import os
import uuid

import tidings_client as t
from tidings_client.exceptions import NotFoundException


def connect(token: str) -> t.ApiClient:
    return t.ApiClient(t.Configuration(host=os.environ["API"], access_token=token))


def problem_of(error: t.ApiException) -> t.Problem:
    assert isinstance(error.data, t.Problem)
    print(f"get: {error.data.status} {error.data.code}")
    return error.data


def main() -> None:
    author, fan = connect(os.environ["AUTHOR"]), connect(os.environ["FAN"])
    author_id = int(os.environ["AUTHOR_ID"])
    posts, inbox = t.PostsApi(fan), t.InboxApi(fan)

    follow = t.RelationsApi(fan).follow(t.FollowRequest(user_id=author_id))
    print(f"follow: {follow.changed} {follow.following}".lower())
    profile = t.UsersApi(author).set_profile(t.ProfileRequest(name="Ann"))
    print(f"profile: {profile.name}")

    ids = []
    for i in range(1, 6):
        post = t.PostsApi(author).publish(
            t.PublishRequest(kind=t.Kind.NOTE, title=f"Post {i}", body=f"{i} [img]https://example.org/{i}.png[/img]"),
            idempotency_key=str(uuid.uuid4()))
        ids.append(post.id)
    print(f"published: {len(ids)}, the last with {post.parts[0].text}and {post.parts[1].img}")
    print(f"badge: {inbox.get_badge().total}")

    opened = posts.open_post(ids[0])
    print(f"open: {opened.post.title}, {opened.unread.total} left")
    marked = inbox.mark_read(t.MarkReadRequest(post_ids=[ids[1]]))
    print(f"mark: {marked.marked}, {marked.total} left")

    page = inbox.list_inbox(limit=2)
    seen, pages = list(page.items), 1
    while page.next_cursor is not None:
        page = inbox.list_inbox(limit=2, cursor=page.next_cursor)
        seen += page.items
        pages += 1
    print(f"pages: {pages} with {len(seen)} items, {sum(not item.is_read for item in seen)} unread")
    marked = inbox.mark_read(t.MarkReadRequest(up_to=page.as_of))
    print(f"mark all: {marked.marked}, {marked.total} left")

    edited = t.PostsApi(author).edit_post(ids[0], t.EditRequest(title="Edited"))
    print(f"edit: {edited.title}")
    story = t.PostsApi(author).publish(t.PublishRequest(kind=t.Kind.STORY, title="A story"))
    scene = t.StoriesApi(author).publish_scene(story.id, t.SceneRequest(title="One", messages=["old", "gone"]))
    kept = t.KeptMessage(id=scene.messages[0].id, text="kept")
    scene = t.StoriesApi(author).edit_scene(scene.id, t.SceneEditRequest(
        messages=[t.SceneEditMessage(kept), t.SceneEditMessage("new")]))
    print(f"scene: {', '.join(message.text for message in scene.messages)}")

    t.ReadingApi(fan).set_reading(story.id, t.ReadingRequest(scene_id=scene.id))
    reading = t.ReadingApi(fan).list_reading(since=0)
    print(f"reading: {len(reading.items)}, more {reading.more}".lower())
    t.ReactionsApi(fan).like_post(ids[2])
    liked = t.ReactionsApi(fan).list_my_likes().items[0].actual_instance
    assert isinstance(liked, t.LikedPost)
    print(f"liked: {liked.title}")

    try:
        posts.get_post(1)
    except NotFoundException as error:
        problem_of(error)
    t.PostsApi(author).delete_post(ids[4])
    try:
        posts.get_post(ids[4], accept_language="en")
    except t.ApiException as error:
        print(f"notice: {problem_of(error).notice}")


main()

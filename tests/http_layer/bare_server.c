/* SPDX-License-Identifier: MIT */
/*
 * The measure for src/http: the least that libuv and http-parser can do. It parses, writes one
 * canned answer for every request, and checks nothing. Usage: bare_server [threads] [port]
 */
#include <http_parser.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <uv.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                             "X-Request-Id: 0123456789abcdef\r\nContent-Type: text/plain\r\n"
                             "Content-Length: 3\r\n\r\nok\n";

struct client {
    uv_tcp_t tcp;
    http_parser parser;
    char *input;
};

struct server {
    uv_loop_t loop;
    uv_tcp_t listener;
    pthread_t thread;
    char input[65536];
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static int on_message_complete(http_parser *parser)
{
    struct client *client = parser->data;
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)answer, sizeof answer - 1);
    return uv_try_write((uv_stream_t *)&client->tcp, &buf, 1) < 0;
}

static const http_parser_settings settings = {.on_message_complete = on_message_complete};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct client *client = handle->data;
    (void)suggested;
    *buf = uv_buf_init(client->input, 65536);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct client *client = stream->data;
    if (n == 0)
        return;
    if (n < 0 || http_parser_execute(&client->parser, &settings, buf->base, (size_t)n) != (size_t)n)
        uv_close((uv_handle_t *)stream, on_closed);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *server = listener->data;
    struct client *client = status < 0 ? NULL : calloc(1, sizeof *client);
    if (!client)
        return;
    client->tcp.data = client->parser.data = client;
    client->input = server->input;
    http_parser_init(&client->parser, HTTP_REQUEST);
    client->parser.data = client;
    uv_tcp_init(&server->loop, &client->tcp);
    uv_accept(listener, (uv_stream_t *)&client->tcp);
    uv_tcp_nodelay(&client->tcp, 1);
    uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_read);
}

static void *run(void *arg)
{
    struct server *server = arg;
    uv_run(&server->loop, UV_RUN_DEFAULT);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1, port = argc > 2 ? atoi(argv[2]) : 8081;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < threads; i++) {
        struct server *server = calloc(1, sizeof *server);
        struct sockaddr_in address;
        uv_os_fd_t fd;
        int on = 1;
        if (!server)
            return 1;
        uv_loop_init(&server->loop);
        uv_ip4_addr("127.0.0.1", port, &address);
        uv_tcp_init_ex(&server->loop, &server->listener, AF_INET);
        uv_fileno((uv_handle_t *)&server->listener, &fd);
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
        server->listener.data = server;
        if (uv_tcp_bind(&server->listener, (struct sockaddr *)&address, 0) < 0 ||
            uv_listen((uv_stream_t *)&server->listener, 1024, on_connection) < 0)
            return 1;
        pthread_create(&server->thread, NULL, run, server);
    }
    printf("listening %d\n", port);
    fflush(stdout);
    for (;;)
        pause();
}

/* SPDX-License-Identifier: MIT */
/* Who may connect to MySQL, and to whom we do, on the server of tests/support/with-mariadb. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sql/sql_support.h"

static void assert_no_connection(const struct sql_url *url, const char *password, const char *word)
{
    char why[512] = "";
    assert_null(sql_open(url, password, SILENT_MS, 0, why, sizeof why));
    if (!strstr(why, word))
        fail_msg("\"%s\" does not say \"%s\"", why, word);
    if (password)
        assert_null(strstr(why, password));
}

static void a_wrong_password_is_refused_and_not_repeated(void **state)
{
    (void)state;
    struct sql_url url = server_url();
    struct sql *root = connect_as(&url, NULL);
    assert_run(root, "CREATE OR REPLACE USER reader@localhost IDENTIFIED BY 'right'");
    strcpy(url.user, "reader");
    sql_close(connect_as(&url, "right"));
    assert_no_connection(&url, "wr0ng", "1045");
    assert_no_connection(&url, NULL, "1045");
    sql_close(root);
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    struct sql_url url = server_url();
    strcpy(url.database, "no_such_database");
    assert_no_connection(&url, NULL, "1049");
    strcpy(url.socket, "/nonexistent/socket");
    assert_no_connection(&url, NULL, "2002");
    url = (struct sql_url){.user = "root", .host = "localhost", .port = 1};
    assert_no_connection(&url, NULL, "200"); /* by TCP, not by the library's own idea of a socket */
}

/* By TCP to the server's socket: one connection. */
struct relay {
    struct sql_url url; /* of the relay */
    int listener;
    char socket[SQL_URL_SOCKET_MAX + 1];
    pthread_t thread;
};

/* Until one side ends. */
static void pass_bytes(int a, int b)
{
    struct pollfd ends[] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    char bytes[4096];
    while (poll(ends, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            ssize_t n = ends[i].revents ? read(ends[i].fd, bytes, sizeof bytes) : -1;
            if (n == 0 || (n > 0 && send(ends[1 - i].fd, bytes, (size_t)n, MSG_NOSIGNAL) != n))
                return;
        }
}

static void *run_relay(void *ctx)
{
    struct relay *relay = ctx;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int client = accept(relay->listener, NULL, NULL), server = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(to.sun_path, relay->socket, sizeof relay->socket);
    if (client >= 0 && !connect(server, (struct sockaddr *)&to, sizeof to))
        pass_bytes(client, server);
    close(client);
    close(server);
    return NULL;
}

static void relay_start(struct relay *relay, const char *host)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    relay->url = server_url();
    strcpy(relay->socket, relay->url.socket);
    relay->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(relay->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(relay->listener, 1), 0);
    assert_int_equal(getsockname(relay->listener, (struct sockaddr *)&at, &size), 0);
    strcpy(relay->url.socket, "");
    strcpy(relay->url.host, host);
    relay->url.port = ntohs(at.sin_port);
    relay->url.tls = true;
    snprintf(relay->url.ca, sizeof relay->url.ca, "%s", getenv("TIDINGS_TEST_MYSQL_CA"));
    assert_int_equal(pthread_create(&relay->thread, NULL, run_relay, relay), 0);
}

static void relay_stop(struct relay *relay)
{
    pthread_join(relay->thread, NULL);
    close(relay->listener);
}

static void assert_encrypted(struct sql *sql)
{
    assert_int_equal(asked(sql,
                           "SELECT COUNT(*) FROM information_schema.SESSION_STATUS "
                           "WHERE VARIABLE_NAME = 'Ssl_version' AND VARIABLE_VALUE LIKE 'TLSv1%'"),
                     1);
}

static void tls_trusts_whom_it_was_told_to(void **state)
{
    (void)state;
    struct sql_url url = server_url();
    url.tls = true;
    assert_no_connection(&url, NULL, "2026"); /* signed by nobody whom the system trusts */
    snprintf(url.ca, sizeof url.ca, "%s", getenv("TIDINGS_TEST_MYSQL_CA"));
    struct sql *sql = connect_as(&url, NULL);
    assert_encrypted(sql);
    sql_close(sql);
    strcpy(url.ca, "/nonexistent/ca.pem");
    assert_no_connection(&url, NULL, "2026");
}

static void tls_looks_at_the_name(void **state)
{
    (void)state;
    struct relay relay;
    relay_start(&relay, "localhost");
    struct sql *sql = connect_as(&relay.url, NULL);
    assert_encrypted(sql);
    sql_close(sql);
    relay_stop(&relay);
    relay_start(&relay, "127.0.0.1"); /* where it is, but not what it is called */
    assert_no_connection(&relay.url, NULL, "2026");
    relay_stop(&relay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_password_is_refused_and_not_repeated),
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(tls_trusts_whom_it_was_told_to),
        cmocka_unit_test(tls_looks_at_the_name),
    };
    return RUN_TESTS(tests);
}

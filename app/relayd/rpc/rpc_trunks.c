/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the workers' cores about trunks: drain, undrain, policy. */
#include "rpc_internal.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

_Static_assert(RELAY_POLICY_DEST == 0 && RELAY_POLICY_SOURCE == 1 && RELAY_POLICY_STRIPE == 2,
	       "words of policy");

/* One call that goes to all workers. */
struct rd_core_call {
	struct rd_rpc_server *server;
	struct rd_rpc_client *client; /* NULL: he is gone */
	uint32_t mails, weight;
	int result; /* the first that is not 0 */
	bool sets_weight;
	struct relay_policy_rule rule;
	const char *word; /* answered; NULL: of those above */
};

static void
answer_trunks(struct rd_core_call *call)
{
	struct rd_rpc_client *c = call->client;
	if (!call->result && call->sets_weight)
		call->server->env.settings->weight = call->weight;
	if (!call->result && !call->word && !call->sets_weight && !call->rule.prefix_len)
		call->server->env.settings->policy = call->rule.policy;
	rd_rpc_changed(call->server);
	if (!c)
		return;
	c->asks = NULL;
	if (call->result)
		rd_rpc_error(&c->conn, RD_RPC_STATE, "%s", relay_strerror(call->result));
	else if (call->word)
		rd_rpc_result(&c->conn, json_pack("{s:s}", "until", call->word));
	else if (call->sets_weight)
		rd_rpc_result(&c->conn, json_pack("{s:i, s:b}", "weight", (int)call->weight,
						  "drains", call->weight == 0));
	else
		rd_rpc_result(&c->conn,
			      json_pack("{s:s}", "policy", c->conn.call.text[RD_P_POLICY]));
	rd_rpc_settle(c);
}

void
rd_rpc_core_done(struct rd_mail *mail)
{
	struct rd_core_call *call = mail->owner;
	if (!call->result)
		call->result = mail->result;
	if (--call->mails)
		return;
	answer_trunks(call);
	free(call);
}

struct rd_core_call *
rd_rpc_core_call(struct rd_rpc_client *c, const char *word)
{
	struct rd_core_call *call = calloc(1, sizeof *call);
	if (!call) {
		rd_rpc_error(&c->conn, RD_RPC_INTERNAL, "out of memory");
		return NULL;
	}
	call->server = c->server;
	call->client = c;
	call->word = word;
	call->mails = word != NULL;
	c->asks = call;
	return call;
}

/* "198.51.100.0/24". */
static bool
take_addresses(const char *text, struct relay_policy_rule *rule)
{
	char ip[24];
	const char *bad = NULL;
	strlcpy(ip, text, sizeof ip);
	char *slash = strchr(ip, '/');
	if (!slash)
		return false;
	*slash = '\0';
	rule->prefix_len = (uint8_t)strtonum(slash + 1, 1, 32, &bad);
	return !bad && rd_ipv4_parse(ip, &rule->ipv4);
}

/* Is it us that is meant? */
static bool
is_us(const struct rd_conf *conf, const char *text)
{
	uint32_t address;
	const char *bad = NULL;
	if (rd_ipv4_parse(text, &address))
		return address == conf->cluster.relay[conf->cluster.self].private_address;
	long long index = strtonum(text, 0, RD_RELAYS_MAX - 1, &bad);
	return !bad && index == conf->cluster.self;
}

static void
post_to_cores(struct rd_core_call *call, struct rd_post *post)
{
	for (uint32_t i = 0; i < post->nworkers; i++) {
		struct rd_mail *mail =
			rd_post_mail(post, i, call->sets_weight ? RD_MAIL_WEIGHT : RD_MAIL_POLICY);
		mail->trunks.weight = call->weight;
		mail->trunks.rule = call->rule;
		mail->done = rd_rpc_core_done;
		mail->owner = call;
		call->mails++;
		rd_post_send(post, mail);
	}
}

void
rd_rpc_trunks(struct rd_rpc_client *c, const struct rd_rpc_call *rpc)
{
	const struct rd_rpc_env *env = &c->server->env;
	bool sets_policy = rpc->method->id == RD_M_POLICY;
	struct relay_policy_rule rule = {.policy = (uint8_t)rpc->number[RD_P_POLICY]};
	if (sets_policy && rpc->given[RD_P_ADDRESSES] &&
	    !take_addresses(rpc->text[RD_P_ADDRESSES], &rule)) {
		rd_rpc_error(&c->conn, RD_RPC_PARAMS, "addresses must be IP/LENGTH, 1 to 32");
		return;
	}
	if (!sets_policy && rpc->given[RD_P_RELAY] && !is_us(env->conf, rpc->text[RD_P_RELAY])) {
		rd_rpc_error(&c->conn, RD_RPC_NOT_FOUND,
			     "this is relay %u of cluster %s; ask relay %s at its own socket",
			     env->conf->cluster.self, env->conf->cluster.name,
			     rpc->text[RD_P_RELAY]);
		return;
	}
	if (rpc->method->id == RD_M_DRAIN && env->conf->cluster.nrelays == 1) {
		rd_rpc_error(&c->conn, RD_RPC_STATE,
			     "there is no other relay in this cluster to take the traffic");
		return;
	}
	struct rd_core_call *call = rd_rpc_core_call(c, NULL);
	if (!call)
		return;
	call->sets_weight = !sets_policy;
	call->weight = rpc->method->id == RD_M_UNDRAIN ? env->conf->trunks.weight : 0;
	call->rule = rule;
	post_to_cores(call, env->post);
}

void
rd_rpc_trunks_gone(struct rd_rpc_client *c)
{
	if (c->asks)
		c->asks->client = NULL;
	c->asks = NULL;
}

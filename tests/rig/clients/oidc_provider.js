// An OpenID provider that takes any password. Whoever is called ada is in the group dlo-admins, otto in on-call, vera in
// staff, and anybody else in none.
const { createServer } = require("node:http");
const { Provider } = require("oidc-provider");

const dlo = process.argv[2];
const groups = { ada: ["dlo-admins"], otto: ["on-call"], vera: ["staff"] };

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "dlo",
        client_secret: "a secret of dlo and the provider",
        redirect_uris: [`${dlo}/sign-in/callback`],
        post_logout_redirect_uris: [`${dlo}/sign-in`],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, preferred_username: id, groups: groups[id] ?? [] }),
    }),
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    cookies: { keys: ["a key of the tests"] },
  });
  server.on("request", provider.callback());
  console.log(`ISSUER=${issuer}`);
  console.log("READY");
});

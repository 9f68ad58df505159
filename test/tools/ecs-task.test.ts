/**
 * The task definition for Amazon ECS: no field that the API of ECS does not have, settings that exist, and no secret in it. It is not
 * run here: there is no ECS on loopback.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '../../src/config.ts'
import { startLoopback } from '../support/loopback.ts'
import { forFile } from '../support/for-file.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }

const named = { name: z.string().regex(/^\w+$/) }
const text = z.string().min(1)
/** The fields of RegisterTaskDefinition that are used here, as its reference has them. */
const taskDefinition = z.strictObject({
  family: z.string().regex(/^[\w-]{1,255}$/),
  requiresCompatibilities: z.array(z.enum(['EC2', 'FARGATE', 'EXTERNAL', 'MANAGED_INSTANCES'])),
  networkMode: z.enum(['bridge', 'host', 'awsvpc', 'none']),
  cpu: z.enum(['256', '512', '1024', '2048', '4096']),
  memory: z.string().regex(/^\d+$/),
  runtimePlatform: z.strictObject({
    cpuArchitecture: z.enum(['X86_64', 'ARM64']),
    operatingSystemFamily: z.literal('LINUX'),
  }),
  executionRoleArn: z.string().startsWith('arn:aws:iam::'),
  containerDefinitions: z.tuple([
    z.strictObject({
      name: text,
      image: text,
      essential: z.literal(true),
      portMappings: z.array(
        z.strictObject({ name: text, containerPort: z.int(), protocol: z.enum(['tcp', 'udp']) }),
      ),
      environment: z.array(z.strictObject({ ...named, value: text })),
      secrets: z.array(
        z.strictObject({ ...named, valueFrom: z.string().regex(/^arn:aws:(secretsmanager|ssm):\S+$/) }),
      ),
      healthCheck: z.strictObject({
        command: z.tuple([z.literal('CMD')], text),
        interval: z.int().min(5).max(300),
        timeout: z.int().min(2).max(60),
        retries: z.int().min(1).max(10),
        startPeriod: z.int().min(0).max(300),
      }),
      // Fargate kills after 120 seconds at the latest.
      stopTimeout: z.int().max(120),
      linuxParameters: z.strictObject({ capabilities: z.strictObject({ drop: z.array(text) }) }),
      logConfiguration: z.strictObject({
        logDriver: z.literal('awslogs'),
        options: z.record(z.string(), text),
      }),
    }),
  ]),
})

const written = JSON.parse(read('deploy/ecs-task.json')) as Record<string, any>
const task = taskDefinition.parse(written)
const [container] = task.containerDefinitions
const set = Object.fromEntries(container.environment.map(({ name, value }) => [name, value]))
const secret = container.secrets.map(({ name }) => name)

/** What the image and the task set together, with values of secrets in the place of their names. */
const config = () =>
  loadConfig({
    NODE_ENV: 'production',
    ...set,
    ...Object.fromEntries(secret.map((name) => [name, `gh_${'x'.repeat(40)}`])),
    DATABASE_URL: 'postgres://x/y',
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  })

test('a field that ECS does not have, or a wrong type, is found', () => {
  const [first] = written['containerDefinitions']
  for (const wrong of [{ stopTimeouts: 30 }, { stopTimeout: '30' }])
    expect(() =>
      taskDefinition.parse({ ...written, containerDefinitions: [{ ...first, ...wrong }] }),
    ).toThrow('stopTimeout')
})

test('its settings are in the guide and fit each other; what is secret comes from the secrets of ECS', () => {
  const guide = read('docs/guides/configuration.md')
  for (const name of [...Object.keys(set), ...secret]) expect(guide, name).toContain(`\`${name}\``)
  expect(config()).toMatchObject({
    production: true,
    role: 'all',
    port: container.portMappings[0]!.containerPort,
    s3: { bucket: 'gatehouse-files' },
  })
  expect(Object.keys(set).filter((name) => /KEY|SECRET|TOKEN|PASSWORD|DATABASE/.test(name))).toEqual([])
  expect(secret).toEqual(expect.arrayContaining(['DATABASE_URL', 'GATEHOUSE_SECRET_KEY']))
  expect(container.image).toMatch(new RegExp(`/gatehouse:${version.replaceAll('.', '\\.')}$`))
})

test('it has the 30 seconds that the guide asks for, which are more than stopping takes', () => {
  expect(read('docs/guides/installing.md')).toContain(`allow it ${container.stopTimeout} `)
  const { drainMs, graceMs } = config()
  expect(container.stopTimeout * 1000).toBeGreaterThan(drainMs + graceMs + 5000)
})

let status = 200
const server = await forFile(
  startLoopback(({ url }, response) => {
    response.writeHead(url === '/healthz' ? status : 404).end()
  }),
)

test('its health check asks whether the process is alive, not whether the database answers', async () => {
  const [, program, ...args] = container.healthCheck.command
  expect(read('deploy/Containerfile')).toContain(`ENTRYPOINT ["${program}"`)
  const here = args.map((arg) => arg.replace('127.0.0.1:4000', server.address))
  expect(here).not.toEqual(args)
  const check = () => promisify(execFile)(process.execPath, here)
  await check()
  status = 503
  await expect(check()).rejects.toThrow('Command failed')
})

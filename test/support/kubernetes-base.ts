/** The kustomize base in deploy, read as Kubernetes gets it. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { importPeer } from './peers.ts'

export interface Yaml {
  parse(text: string, options: { merge: boolean }): any
  parseAllDocuments(text: string): { toJS(): any }[]
}

export interface KubernetesObject {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec: any
}

export interface KubernetesBase {
  yaml: Yaml
  kustomization: any
  objects: KubernetesObject[]
  /** The specs of the pods of its deployments. */
  pods: any[]
  /** What its config map sets. */
  literals: Record<string, string>
  /** What a pod gets for the Services of the base, unless it refuses them. */
  serviceLinks: Record<string, string>
}

const folder = resolve(import.meta.dirname, '../../deploy/kustomize')
const read = (path: string) => readFileSync(`${folder}/${path}`, 'utf8')

/** Needs the packages of tools/peers. */
export async function readKubernetesBase(): Promise<KubernetesBase> {
  const yaml = await importPeer<Yaml>('yaml')
  const kustomization = yaml.parse(read('kustomization.yaml'), { merge: false })
  const objects: KubernetesObject[] = kustomization.resources.flatMap((path: string) =>
    yaml.parseAllDocuments(read(path)).map((document) => document.toJS()),
  )
  const of = (wanted: string) => objects.filter(({ kind }) => kind === wanted)
  return {
    yaml,
    kustomization,
    objects,
    pods: of('Deployment').map(({ spec }) => spec.template.spec),
    literals: Object.fromEntries(
      kustomization.configMapGenerator[0].literals.map((one: string) => one.split(/=(.*)/s, 2)),
    ),
    serviceLinks: Object.assign({}, ...of('Service').map(linksTo)),
  }
}

function linksTo({ metadata, spec }: KubernetesObject): Record<string, string> {
  const name = metadata.name.toUpperCase().replaceAll('-', '_')
  const [{ name: portName, port }] = spec.ports
  const address = `tcp://10.0.0.1:${port}`
  return {
    [`${name}_SERVICE_HOST`]: '10.0.0.1',
    [`${name}_SERVICE_PORT`]: String(port),
    [`${name}_SERVICE_PORT_${portName.toUpperCase()}`]: String(port),
    [`${name}_PORT`]: address,
    [`${name}_PORT_${port}_TCP`]: address,
    [`${name}_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`${name}_PORT_${port}_TCP_PORT`]: String(port),
    [`${name}_PORT_${port}_TCP_ADDR`]: '10.0.0.1',
  }
}

/** A collector of OpenTelemetry on loopback: keeps the spans that are sent to it as JSON. */
import { startLoopback } from './loopback.ts'

export interface ReceivedSpan {
  name: string
  /** 1 internal, 2 server, 3 client. */
  kind: number
  traceId: string
  spanId: string
  parentSpanId: string
  links: { traceId: string; spanId: string }[]
  attributes: Record<string, unknown>
  failed: boolean
}

export interface OtlpReceiver {
  url: string
  spans(): ReceivedSpan[]
  /** Every byte that arrived. */
  raw(): string
  close(): Promise<void>
}

interface WireValue {
  stringValue?: string
  intValue?: number
  doubleValue?: number
  arrayValue?: unknown
}

interface WireSpan extends Omit<ReceivedSpan, 'attributes' | 'failed' | 'links' | 'parentSpanId'> {
  parentSpanId?: string
  links?: ReceivedSpan['links']
  attributes: { key: string; value: WireValue }[]
  status?: { code?: number }
}

interface Payload {
  resourceSpans: { scopeSpans: { spans: WireSpan[] }[] }[]
}

export async function openOtlpReceiver(): Promise<OtlpReceiver> {
  const server = await startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const arrived = () =>
    server.seen.filter(
      ({ url, headers }) => url === '/v1/traces' && headers['content-type'] === 'application/json',
    )
  return {
    url: server.url,
    spans: () =>
      arrived()
        .flatMap(({ body }) => (JSON.parse(body) as Payload).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
        .map(({ attributes, status, links = [], parentSpanId = '', ...span }) => ({
          ...span,
          parentSpanId,
          links,
          failed: status?.code === 2,
          attributes: Object.fromEntries(
            attributes.map(({ key, value }) => [
              key,
              value.stringValue ?? value.intValue ?? value.doubleValue ?? value.arrayValue,
            ]),
          ),
        })),
    raw: () =>
      arrived()
        .map(({ body }) => body)
        .join('\n'),
    close: () => server.close(),
  }
}

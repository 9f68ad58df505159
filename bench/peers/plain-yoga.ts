/** Plain Yoga with one small field and without any limit. */
import { createServer } from 'node:http'
import { createSchema, createYoga } from 'graphql-yoga'
import { serveAsPeer } from '../peer.ts'

const typeDefs = 'type Viewer { id: ID! name: String! } type Query { viewer: Viewer! }'
const resolvers = { Query: { viewer: () => ({ id: 'key_0', name: 'operator' }) } }
serveAsPeer(createServer(createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false })))

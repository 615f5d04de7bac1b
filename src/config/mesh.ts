/**
 * Mesh section: other Hearthbus nodes.
 */
import { z } from 'zod'

const address = z
  .string()
  .regex(/^(?:\[[0-9A-Fa-f:.%\w]+\]|[^\s:/[\]]+):\d{1,5}$/, 'an address with a port, such as 192.168.1.20:7080')

const natsSection = z
  .strictObject({
    servers: z
      .array(z.string().regex(/^(?:nats|tls):\/\/\S+$|^[^\s:/]+(?::\d{1,5})?$/, 'such as nats://192.168.1.5:4222'))
      .default([])
      .describe('NATS servers (2.9 or newer, with JetStream) through which nodes also find and reach each other.'),
    nkey: z
      .boolean()
      .default(false)
      .describe('Log in to NATS with the node’s own key; `hearthbus mesh nkey` prints what the server has to know.'),
  })
  .prefault({})

const rateSection = z
  .strictObject({
    callsPerSecond: z.int().min(1).default(100).describe('Calls that one other node may make in a second, in all.'),
    callsPerSecondPerCapability: z
      .int()
      .min(1)
      .default(10)
      .describe('The same for one capability. Five seconds’ worth may come at once.'),
  })
  .prefault({})

export const meshConfigSchema = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Offer capabilities to, and use those of, other nodes.'),
    host: z.string().default('0.0.0.0').describe('Address of the mesh listener.'),
    port: z.int().min(0).max(65_535).default(7080).describe('Port of the mesh listener; 0 takes a free one.'),
    advertise: z
      .array(address)
      .default([])
      .describe('Under which addresses others reach this node; found out by itself if absent.'),
    peers: z.array(address).default([]).describe('Nodes to look for beside those that are found by themselves.'),
    mdns: z.boolean().default(true).describe('Find nodes on the local network, and be found there.'),
    witness: z.boolean().default(true).describe('Cosign other nodes’ checkpoints and have them cosign ours.'),
    maxBodyBytes: z.int().min(1_024).default(1_048_576).describe('Largest call, and largest answer, between nodes.'),
    offersPerNode: z
      .int()
      .min(1)
      .max(2_000)
      .default(128)
      .describe('How many capabilities of one other node are taken that this node does not have itself.'),
    signatures: z
      .enum(['session', 'none'])
      .default('session')
      .describe(
        '`none` leaves out the MAC of small calls that only read, where the other node does so too: they carry a secret of the session instead. Changes are always signed.',
      ),
    rate: rateSection,
    nats: natsSection,
  })
  // Without a MAC a call is only as safe as its transport: HTTP between nodes is always encrypted, a broker may be
  // anything.
  .refine(({ signatures, nats }) => signatures === 'session' || isSealed(nats), {
    path: ['signatures'],
    error:
      '`none` over NATS needs mesh.nats.nkey: true, and servers that begin with tls:// or are on this machine. Otherwise anybody on the way could call in a member’s name',
  })
  .prefault({})

/** Whether only the broker, and clients that it knows by their keys, can read the traffic. */
function isSealed({ servers, nkey }: z.output<typeof natsSection>): boolean {
  return servers.length === 0 || (nkey && servers.every((server) => server.startsWith('tls://') || isHere(server)))
}

function isHere(server: string): boolean {
  return /^(?:nats:\/\/)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/.test(server)
}

export type MeshConfig = z.output<typeof meshConfigSchema>

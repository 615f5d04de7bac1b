/**
 * Devices section: the listener that ESP32 devices connect to, and what their tools may do.
 */
import { z } from 'zod'

const names = z.array(z.string().min(1).max(256))

const mqttSection = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('Run a broker for devices; over MQTT they stay reachable while they sleep.'),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .refine((port) => port !== 8_883, 'not 8883: on that port devices insist on TLS with a public certificate')
      .default(7_424)
      .describe('Port of that broker.'),
    udpPort: z.int().min(0).max(65_535).default(7_424).describe('UDP port where their audio ends.'),
  })
  .prefault({})

/**
 * A topic requires one of the two placeholders, once: without it all devices would share a topic. Wildcards are only
 * for subscribers.
 */
const topic = (word: string) =>
  z.string().regex(/^[^+#{}]*\{(?:device|client)\}[^+#{}]*$/, `a topic such as devices/${word}/{device}`)

const brokerSection = z.strictObject({
  url: z.url({ protocol: /^mqtts?$/ }).describe('Address at which the gateway reaches it.'),
  username: z.string().exactOptional().describe('Our account there.'),
  password: z.string().exactOptional().describe('Its password.'),
  endpoint: z
    .string()
    .regex(/^[^:/\s]+:\d{1,5}$/, 'host:port')
    .describe('Where devices reach it, as `host:port`.'),
  uplink: topic('up').default('devices/up/{device}').describe('Topic on which a device speaks.'),
  downlink: topic('down').default('devices/down/{device}').describe('Topic on which it listens.'),
  account: z
    .strictObject({ username: z.string(), password: z.string() })
    .exactOptional()
    .describe('One account for all devices; absent: they use credentials that we sign.'),
})

/** In the form that tools/url-rule.ts parses. */
const urlRule = z
  .string()
  .max(512)
  .regex(/^https?:\/\/(?:\*\.[a-z0-9-]+\.)?[a-z0-9.-]+(?::\d{1,5})?(?:\/[A-Za-z0-9._~!$&()*+,;=:/%-]*)?$/, {
    message: 'an address such as https://files.example.org/firmware/ or https://*.example.org/',
  })

/** May refer to environment variables, so that secrets stay out of this file, which is copied, shown and backed up. */
const withVariables = z.string().min(1).max(2_048)

const voiceSection = z
  .strictObject({
    mode: z
      .enum(['none', 'relay'])
      .default('none')
      .describe(
        '`none`: a wake word is answered with a notice, and the microphone is shut; `relay`: passed on to a voice backend.',
      ),
    ota: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe('OTA address of the backend: devices are known there as themselves, activation included.'),
    url: withVariables
      .regex(/^wss?:\/\//, 'a WebSocket address, wss://… or ws://…')
      .exactOptional()
      .describe('Or its WebSocket address; `${NAME}` stands for an environment variable.'),
    token: z
      .string()
      .max(2_048)
      .default('')
      .describe('Token for that address; `${NAME}` stands for an environment variable.'),
    mqtt: z
      .strictObject({
        endpoint: z
          .string()
          .regex(/^[^:/\s]+:\d{1,5}$/, 'host:port')
          .describe('Its broker, as `host:port`.'),
        clientId: z
          .string()
          .default('GID_default@@@{device}@@@{client}')
          .describe('`{device}` is the MAC address with underscores, `{client}` the UUID.'),
        username: withVariables.describe('`${NAME}` stands for an environment variable.'),
        password: withVariables.describe('`${NAME}` stands for an environment variable.'),
        publishTopic: z.string().default('device-server').describe('Topic on which devices speak.'),
      })
      .exactOptional()
      .describe('Or its MQTT broker, with audio over UDP.'),
    backendTools: z
      .enum(['guard', 'pass'])
      .default('guard')
      .describe(
        'Tools of the device that the backend calls: through the guard, as `voice-backend:<device>`, or straight to the device.',
      ),
  })
  .refine(
    ({ mode, ota, url, mqtt }) => mode === 'none' || [ota, url, mqtt].filter((way) => way !== undefined).length === 1,
    {
      message: 'relay needs one of ota, url and mqtt',
      path: ['mode'],
    },
  )
  .prefault({})

export const devicesConfigSchema = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Listen for ESP32 devices.'),
    host: z.string().default('0.0.0.0').describe('Address of the devices listener (devices are on the LAN).'),
    port: z.int().min(0).max(65_535).default(7421).describe('Port of the devices listener: OTA, WebSocket, vision.'),
    publicUrl: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe(
        'Sent to devices instead of the address at which they reached the gateway, e.g. http://192.168.1.2:7421.',
      ),
    otaPath: z
      .string()
      .regex(/^\/(?:[A-Za-z0-9._~-]+\/)*$/, 'a path that begins and ends with a slash')
      .default('/xiaozhi/ota/')
      .describe('Where devices ask what to connect to: the one address that is typed into them.'),
    allowedOrigins: z.array(z.string()).default([]).describe('Web pages that may act as a device; usually none.'),
    maxConnections: z
      .int()
      .min(1)
      .max(100_000)
      .default(10_000)
      .describe('Devices connected at once over WebSocket, and as many over MQTT.'),
    waitingPerAddress: z
      .int()
      .min(1)
      .max(100_000)
      .default(8)
      .describe('Strangers from one address that may wait with a code at once.'),
    transport: z
      .enum(['websocket', 'mqtt', 'mqtt-broker'])
      .exactOptional()
      .describe(
        'How devices connect that are approved without a choice; absent: `mqtt` where devices.mqtt is on, since devices stay reachable there, else `websocket`.',
      ),
    mqtt: mqttSection,
    voice: voiceSection,
    broker: brokerSection.exactOptional().describe('An external MQTT broker, with topics for each device.'),
    // Must be less than the 120 s of silence after which the firmware takes its channel for closed.
    keepAliveSeconds: z
      .int()
      .min(0)
      .max(110)
      .default(90)
      .describe('Interval of the frames that keep a WebSocket device reachable; 0 spares its battery.'),
    whenAsleep: z
      .enum(['fail', 'queue'])
      .default('fail')
      .describe('A call to a device that is not connected: `fail` at once, or `queue` until it is.'),
    waitSeconds: z.int().min(1).max(3_600).default(60).describe('How long a queued call waits.'),
    offlineTools: z
      .enum(['listed', 'unlisted', 'hidden'])
      .default('unlisted')
      .describe(
        'Tools of a device that is not connected: `unlisted`, callable by name and in no list; `listed` as offline; or `hidden`, not there at all.',
      ),
    toolSeconds: z
      .record(z.string().min(1).max(256), z.int().min(1).max(3_600))
      .default({})
      .describe('How long a device may take for a tool, by the tool’s name; 30, and 75 for photos, if absent.'),
    readTools: names.default([]).describe('Tools that only read, beside the known ones; `*` at the end: anything.'),
    sensitiveTools: names.default([]).describe('Tools that need a person’s approval, beside the known ones.'),
    userTools: z
      .boolean()
      .default(false)
      .describe('Ask devices for their user-only tools, too (restart, firmware …): shown to people, with approval.'),
    userToolsForAgents: names.default([]).describe('User-only tools that agents may see as well, still with approval.'),
    urls: z.array(urlRule).default([]).describe('Addresses to which an argument may send a device; none if empty.'),
  })
  .refine(({ transport, mqtt }) => transport !== 'mqtt' || mqtt.enabled, {
    message: 'mqtt needs devices.mqtt.enabled',
    path: ['transport'],
  })
  .refine(({ transport, broker }) => transport !== 'mqtt-broker' || broker !== undefined, {
    message: 'mqtt-broker needs devices.broker',
    path: ['transport'],
  })
  .prefault({})

export type DevicesConfig = z.output<typeof devicesConfigSchema>

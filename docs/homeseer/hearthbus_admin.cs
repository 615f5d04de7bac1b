// hearthbus_admin.cs, version 1.1.0: the admin adapter of Hearthbus, a script of HomeSeer.
//
// Install: copy it into HomeSeer's folder "scripts", and write the key that stands under homeseer.admin.adapterKey of
// hearthbus.yaml into Config/hearthbus_admin.ini:
//
//     [hearthbus]
//     key=<the same 32 characters or more>
//
// It answers hs.RunScriptFunc("hearthbus_admin.cs","Handle","hb1.<request>.<signature>",true,false). What bears no
// signature of that key, or one that is older than five minutes, is refused; without a key everything is. It does what
// HomeSeer's scripting interface offers and nothing else: no shell, no files but HomeSeer's own two event files.
//
// HomeSeer compiles the methods of this file into a class of its own in which `hs` is its scripting object.

private const string HbVersion = "1.1.0";
private static readonly System.Collections.Generic.Dictionary<string, string> HbPerformed =
    new System.Collections.Generic.Dictionary<string, string>();
private static readonly System.Collections.Generic.Queue<string> HbOrder = new System.Collections.Generic.Queue<string>();
private static readonly object HbLock = new object();
private static readonly string[] HbOperations = new string[] {
    "adapter.describe", "adapter.outcome", "events.export", "events.update", "events.delete",
    "config.device_metadata.set", "system.config.get", "system.config.set", "system.shutdown", "system.service.restart"
};
// Settings that can be told and set: none that holds a password.
private static readonly string[] HbSettings = new string[] { "gLocLabel", "gLocLabel2", "gNoPW192", "gWebSvrPort" };

public object Handle(object[] parms)
{
    string given = parms != null && parms.Length > 0 && parms[0] != null ? parms[0].ToString() : "";
    return HbHandle(given);
}

public string HbHandle(string given)
{
    string id = "";
    try
    {
        string[] parts = given.Split('.');
        if (parts.Length < 2 || parts[0] != "hb1") return "error: not a request of Hearthbus";
        string key = hs.GetINISetting("hearthbus", "key", "", "hearthbus_admin.ini");
        if (key == null || key.Length < 32) return HbRefuse(id, "failed", "the adapter has no key");
        if (parts.Length != 3 || !HbSame(HbSign("hb1." + parts[1], key), parts[2]))
            return HbRefuse(id, "invalid", "the signature is missing or wrong");
        System.Collections.Generic.Dictionary<string, object> request = HbParse(parts[1]);
        id = HbText(request, "id");
        string op = HbText(request, "op");
        if (HbNumber(request, "v") != 1 || id == "" || op == "") return HbRefuse(id, "invalid", "not a request");
        double age = HbNow() - HbNumber(request, "at");
        if (age > 300000 || age < -300000) return HbRefuse(id, "invalid", "the request is not of now");
        System.Collections.Generic.Dictionary<string, object> args =
            request.ContainsKey("args") ? request["args"] as System.Collections.Generic.Dictionary<string, object> : null;
        if (args == null) args = new System.Collections.Generic.Dictionary<string, object>();
        lock (HbLock)
        {
            if (HbPerformed.ContainsKey(id)) return HbPerformed[id];
            string reply = HbPerform(id, op, args);
            if (op != "adapter.describe" && op != "adapter.outcome" && op != "events.export" && op != "system.config.get")
                HbRemember(id, reply);
            return reply;
        }
    }
    catch (System.Exception error)
    {
        return HbRefuse(id, "failed", error.GetType().Name);
    }
}

private string HbPerform(string id, string op, System.Collections.Generic.Dictionary<string, object> args)
{
    if (op == "adapter.describe")
        return HbReply(id, "{\"name\":\"hearthbus-admin\",\"version\":\"" + HbVersion + "\",\"operations\":" + HbList(HbOperations) + "}");
    if (op == "adapter.outcome")
    {
        string asked = HbText(args, "id");
        bool known = HbPerformed.ContainsKey(asked);
        return HbReply(id, "{\"known\":" + HbBool(known) + ",\"performed\":" + HbBool(known) + "}");
    }
    if (op == "events.export") return HbExportEvents(id);
    if (op == "events.update") return HbUpdateEvent(id, args);
    if (op == "events.delete")
    {
        int gone = (int)HbNumber(args, "eventId");
        if (gone <= 0) return HbRefuse(id, "invalid", "an event needs its number");
        hs.DeleteEventByRef(gone);
        return HbReply(id, "{\"before\":{\"id\":" + gone + "},\"after\":null}");
    }
    if (op == "config.device_metadata.set") return HbSetMetadata(id, args);
    if (op == "system.config.get")
    {
        System.Text.StringBuilder all = new System.Text.StringBuilder("{\"settings\":{");
        for (int at = 0; at < HbSettings.Length; at++)
            all.Append(at == 0 ? "" : ",").Append(HbQuote(HbSettings[at])).Append(":")
                .Append(HbQuote(hs.GetINISetting("Settings", HbSettings[at], "", "settings.ini")));
        return HbReply(id, all.Append("}}").ToString());
    }
    if (op == "system.config.set")
    {
        string name = HbText(args, "key");
        if (System.Array.IndexOf(HbSettings, name) < 0) return HbRefuse(id, "invalid", "not a setting that can be set here");
        string was = hs.GetINISetting("Settings", name, "", "settings.ini");
        hs.SaveINISetting("Settings", name, HbText(args, "value"), "settings.ini");
        string now = hs.GetINISetting("Settings", name, "", "settings.ini");
        return HbReply(id, "{\"before\":{\"key\":" + HbQuote(name) + ",\"value\":" + HbQuote(was) + "},\"after\":{\"key\":" +
            HbQuote(name) + ",\"value\":" + HbQuote(now) + "}}");
    }
    if (op == "system.shutdown")
    {
        hs.ShutDown();
        return HbReply(id, "{\"after\":{\"state\":\"shutting down\"}}");
    }
    if (op == "system.service.restart")
    {
        hs.RestartSystem();
        return HbReply(id, "{\"after\":{\"service\":\"hs4\",\"state\":\"restarting\"}}");
    }
    return HbRefuse(id, "unknown-operation", "this adapter does not do " + op);
}

private string HbExportEvents(string id)
{
    string folder = System.IO.Path.Combine(System.IO.Path.Combine(hs.GetAppPath(), "Data"), "HomeSeerData_2.json");
    string events = System.IO.Path.Combine(folder, "events.json");
    string groups = System.IO.Path.Combine(folder, "eventgroups.json");
    System.DateTime changed = System.IO.File.GetLastWriteTimeUtc(events);
    double modified = (changed - new System.DateTime(1970, 1, 1, 0, 0, 0, System.DateTimeKind.Utc)).TotalMilliseconds;
    return HbReply(id, "{\"events\":" + System.IO.File.ReadAllText(events).TrimStart('\uFEFF') + ",\"groups\":" +
        System.IO.File.ReadAllText(groups).TrimStart('\uFEFF') + ",\"modifiedMs\":" + ((long)modified).ToString() + "}");
}

// Only whether it is switched on: what an event does is changed at HomeSeer itself.
private string HbUpdateEvent(string id, System.Collections.Generic.Dictionary<string, object> args)
{
    int number = (int)HbNumber(args, "eventId");
    System.Collections.Generic.Dictionary<string, object> definition =
        args.ContainsKey("definition") ? args["definition"] as System.Collections.Generic.Dictionary<string, object> : null;
    if (number <= 0 || definition == null || definition.Count != 1 || !definition.ContainsKey("enabled"))
        return HbRefuse(id, "invalid", "only enabled can be changed, by the number of the event");
    bool enabled = HbText(definition, "enabled").ToLowerInvariant() == "true";
    if (enabled) hs.EnableEventByRef(number); else hs.DisableEventByRef(number);
    return HbReply(id, "{\"before\":{\"id\":" + number + "},\"after\":{\"id\":" + number + ",\"enabled\":" + HbBool(enabled) + "}}");
}

private string HbSetMetadata(string id, System.Collections.Generic.Dictionary<string, object> args)
{
    int number = (int)HbNumber(args, "ref");
    string property = HbText(args, "property");
    string text = HbText(args, "value");
    dynamic device = hs.GetDeviceByRef(number);
    if (device == null) return HbRefuse(id, "not-found", "no such device");
    string was;
    if (property == "Name") { was = device.get_Name(hs); device.set_Name(hs, text); }
    else if (property == "Location") { was = device.get_Location(hs); device.set_Location(hs, text); }
    else if (property == "Location2") { was = device.get_Location2(hs); device.set_Location2(hs, text); }
    else if (property == "UserNote") { was = device.get_UserNote(hs); device.set_UserNote(hs, text); }
    else return HbRefuse(id, "invalid", "not a property that can be set here");
    hs.SaveEventsDevices();
    return HbReply(id, "{\"before\":{\"ref\":" + number + ",\"value\":" + HbQuote(was) + "},\"after\":{\"ref\":" + number +
        ",\"value\":" + HbQuote(text) + "}}");
}

private void HbRemember(string id, string reply)
{
    HbPerformed[id] = reply;
    HbOrder.Enqueue(id);
    while (HbOrder.Count > 200) HbPerformed.Remove(HbOrder.Dequeue());
}

private string HbReply(string id, string data)
{
    return HbPack("{\"v\":1,\"id\":" + HbQuote(id) + ",\"ok\":true,\"data\":" + data + "}");
}

private string HbRefuse(string id, string code, string message)
{
    return HbPack("{\"v\":1,\"id\":" + HbQuote(id) + ",\"ok\":false,\"code\":\"" + code + "\",\"message\":" + HbQuote(message) + "}");
}

private string HbPack(string json)
{
    string plain = System.Convert.ToBase64String(System.Text.Encoding.UTF8.GetBytes(json));
    return "hb1." + plain.TrimEnd('=').Replace('+', '-').Replace('/', '_');
}

private System.Collections.Generic.Dictionary<string, object> HbParse(string packed)
{
    string plain = packed.Replace('-', '+').Replace('_', '/');
    while (plain.Length % 4 != 0) plain += "=";
    string json = System.Text.Encoding.UTF8.GetString(System.Convert.FromBase64String(plain));
    int at = 0;
    object value = HbValue(json, ref at, 0);
    HbSpace(json, ref at);
    if (at != json.Length) throw new System.FormatException("more than one value");
    System.Collections.Generic.Dictionary<string, object> found = value as System.Collections.Generic.Dictionary<string, object>;
    if (found == null) throw new System.FormatException("not an object");
    return found;
}

// A reader of JSON of its own: which library a HomeSeer has differs from version to version.
private object HbValue(string json, ref int at, int depth)
{
    if (depth > 16) throw new System.FormatException("too deep");
    HbSpace(json, ref at);
    char first = json[at];
    if (first == '{')
    {
        System.Collections.Generic.Dictionary<string, object> members =
            new System.Collections.Generic.Dictionary<string, object>();
        at++;
        HbSpace(json, ref at);
        if (json[at] == '}') { at++; return members; }
        while (true)
        {
            HbSpace(json, ref at);
            string name = HbString(json, ref at);
            HbSpace(json, ref at);
            if (json[at++] != ':') throw new System.FormatException("no colon");
            members[name] = HbValue(json, ref at, depth + 1);
            HbSpace(json, ref at);
            char next = json[at++];
            if (next == '}') return members;
            if (next != ',') throw new System.FormatException("no comma");
        }
    }
    if (first == '[')
    {
        System.Collections.Generic.List<object> items = new System.Collections.Generic.List<object>();
        at++;
        HbSpace(json, ref at);
        if (json[at] == ']') { at++; return items; }
        while (true)
        {
            items.Add(HbValue(json, ref at, depth + 1));
            HbSpace(json, ref at);
            char next = json[at++];
            if (next == ']') return items;
            if (next != ',') throw new System.FormatException("no comma");
        }
    }
    if (first == '"') return HbString(json, ref at);
    int begin = at;
    while (at < json.Length && ",]} \t\r\n".IndexOf(json[at]) < 0) at++;
    string word = json.Substring(begin, at - begin);
    if (word == "true") return true;
    if (word == "false") return false;
    if (word == "null") return null;
    return double.Parse(word, System.Globalization.CultureInfo.InvariantCulture);
}

private string HbString(string json, ref int at)
{
    if (json[at++] != '"') throw new System.FormatException("no text");
    System.Text.StringBuilder text = new System.Text.StringBuilder();
    while (json[at] != '"')
    {
        char letter = json[at++];
        if (letter != '\\') { text.Append(letter); continue; }
        char escaped = json[at++];
        if (escaped == 'u') { text.Append((char)System.Convert.ToInt32(json.Substring(at, 4), 16)); at += 4; }
        else if (escaped == 'n') text.Append('\n');
        else if (escaped == 't') text.Append('\t');
        else if (escaped == 'r') text.Append('\r');
        else if (escaped == 'b') text.Append('\b');
        else if (escaped == 'f') text.Append('\f');
        else text.Append(escaped);
    }
    at++;
    return text.ToString();
}

private void HbSpace(string json, ref int at)
{
    while (at < json.Length && " \t\r\n".IndexOf(json[at]) >= 0) at++;
}

private string HbQuote(string text)
{
    System.Text.StringBuilder quoted = new System.Text.StringBuilder("\"");
    foreach (char letter in text == null ? "" : text)
    {
        if (letter == '"' || letter == '\\') quoted.Append('\\').Append(letter);
        else if (letter < 32) quoted.Append("\\u").Append(((int)letter).ToString("x4"));
        else quoted.Append(letter);
    }
    return quoted.Append('"').ToString();
}

private string HbList(string[] words)
{
    System.Text.StringBuilder list = new System.Text.StringBuilder("[");
    for (int at = 0; at < words.Length; at++) list.Append(at == 0 ? "" : ",").Append(HbQuote(words[at]));
    return list.Append("]").ToString();
}

private string HbBool(bool value)
{
    return value ? "true" : "false";
}

private string HbText(System.Collections.Generic.Dictionary<string, object> members, string name)
{
    if (!members.ContainsKey(name) || members[name] == null) return "";
    if (members[name] is double) return ((double)members[name]).ToString(System.Globalization.CultureInfo.InvariantCulture);
    return members[name].ToString();
}

private double HbNumber(System.Collections.Generic.Dictionary<string, object> members, string name)
{
    return members.ContainsKey(name) && members[name] is double ? (double)members[name] : 0;
}

private string HbSign(string packed, string key)
{
    using (System.Security.Cryptography.HMACSHA256 mac =
        new System.Security.Cryptography.HMACSHA256(System.Text.Encoding.UTF8.GetBytes(key)))
    {
        byte[] hash = mac.ComputeHash(System.Text.Encoding.UTF8.GetBytes(packed));
        return System.BitConverter.ToString(hash).Replace("-", "").ToLowerInvariant();
    }
}

// In constant time: how many letters were right must not show.
private bool HbSame(string left, string right)
{
    if (left.Length != right.Length) return false;
    int different = 0;
    for (int at = 0; at < left.Length; at++) different |= left[at] ^ right[at];
    return different == 0;
}

private double HbNow()
{
    return (System.DateTime.UtcNow - new System.DateTime(1970, 1, 1, 0, 0, 0, System.DateTimeKind.Utc)).TotalMilliseconds;
}
